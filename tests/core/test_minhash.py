"""Min-Hash values against datasketch, and equal values against the binomial bound."""

from math import sqrt

import numpy as np
import pytest
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.keywords.minhash import (
    EMPTY_SET_VALUE,
    SCHEME,
    permuted_hashes,
    signatures,
    word_hashes,
)

WORDS = st.text(max_size=6)


@given(st.lists(st.sets(WORDS, max_size=6), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_values_equal_those_of_datasketch(sets, seed):
    records = Records.from_sets(sets)
    seeds = [seed, seed // 2 + 1]
    values = permuted_hashes(word_hashes(map(str, records.vocabulary)), seeds)

    result = signatures(records, values)

    for row, members in zip(result.tolist(), sets, strict=True):
        for value, row_seed in zip(row, seeds, strict=True):
            sketch = MinHash(num_perm=1, seed=row_seed, scheme=SCHEME)
            sketch.update_batch([word.encode("utf-8", "surrogatepass") for word in members])
            assert value == sketch.hashvalues[0]


def test_empty_set_has_the_value_of_an_empty_sketch():
    records = Records.from_sets([[], ["a"], []])
    values = permuted_hashes(word_hashes(["a"]), [1, 2, 3])

    assert signatures(records, values)[[0, 2]].tolist() == [[EMPTY_SET_VALUE] * 3] * 2
    assert MinHash(num_perm=1, scheme=SCHEME).hashvalues[0] == EMPTY_SET_VALUE


@pytest.mark.parametrize(("shared", "p"), [(1, 1), (3, 1), (3, 2), (5, 3)])
def test_p_values_are_equal_for_a_share_sim_to_the_p_of_the_seeds(shared, p):
    """Pairs of sets of six items, `shared` of them in common: Sim = shared / (12 - shared)."""
    rng = np.random.default_rng(shared * 10 + p)
    pairs, draws = 16, 250
    unions = [[f"{pair}.{n}" for n in range(12 - shared)] for pair in range(pairs)]
    sets = [six for union in unions for six in (union[:6], union[6 - shared :])]
    records = Records.from_sets(sets)
    hashes = word_hashes(map(str, records.vocabulary))
    seeds = rng.integers(0, 2**32, draws * p).tolist()
    values = signatures(records, permuted_hashes(hashes, seeds)).reshape(pairs, 2, draws, p)
    equal = (values[:, 0] == values[:, 1]).all(axis=2)
    expected = (shared / (12 - shared)) ** p

    def six_standard_deviations(trials):
        return 6 * sqrt(expected * (1 - expected) / trials)

    assert abs(equal.mean() - expected) < six_standard_deviations(pairs * draws)
    # The probability is over the seeds: it must hold for each pair of sets.
    assert (abs(equal.mean(axis=1) - expected) < six_standard_deviations(draws)).all()


def test_lone_surrogates_are_hashed_as_distinct_words():
    assert len(set(word_hashes(["\ud800", "\udfff", "a"]).tolist())) == 3
