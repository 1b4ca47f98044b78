"""Min-Hash values against datasketch's own, and collisions against the binomial bound."""

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
def test_values_are_those_of_datasketch_for_the_same_seed(sets, seed):
    records = Records.from_sets(sets)
    seeds = [seed, seed // 2 + 1]
    values = permuted_hashes(word_hashes(map(str, records.vocabulary)), seeds)

    ours = signatures(records, values)

    for row, members in zip(ours.tolist(), sets, strict=True):
        for value, own in zip(row, seeds, strict=True):
            theirs = MinHash(num_perm=1, seed=own, scheme=SCHEME)
            theirs.update_batch([word.encode("utf-8", "surrogatepass") for word in members])
            assert value == theirs.hashvalues[0]


def test_the_empty_set_has_the_value_of_an_empty_sketch():
    records = Records.from_sets([[], ["a"], []])
    values = permuted_hashes(word_hashes(["a"]), [1, 2, 3])

    assert signatures(records, values)[[0, 2]].tolist() == [[EMPTY_SET_VALUE] * 3] * 2
    assert MinHash(num_perm=1, scheme=SCHEME).hashvalues[0] == EMPTY_SET_VALUE


@pytest.mark.parametrize(("shared", "p"), [(1, 1), (3, 1), (3, 2), (5, 3)])
def test_p_keys_collide_with_probability_sim_to_the_p(shared, p):
    """Sets of six items, `shared` of them in common: Sim = shared / (12 - shared)."""
    rng = np.random.default_rng(shared * 10 + p)
    trials, alike = 4_000, 0
    sim = shared / (12 - shared)
    for start in range(0, trials, 500):
        names = [f"{start}.{number}" for number in rng.permutation(12 - shared)]
        pair = Records.from_sets([names[:6], names[6 - shared :]])
        hashes = word_hashes(map(str, pair.vocabulary))
        seeds = rng.integers(0, 2**32, 500 * p)
        first, second = signatures(pair, permuted_hashes(hashes, seeds.tolist())).reshape(2, 500, p)
        alike += int((first == second).all(axis=1).sum())
    expected = sim**p
    # Six standard deviations of a binomial: wrong by chance once in a billion runs.
    assert abs(alike / trials - expected) < 6 * sqrt(expected * (1 - expected) / trials)


def test_lone_surrogates_are_hashed_like_any_other_word():
    assert len(set(word_hashes(["\ud800", "\udfff", "a"]).tolist())) == 3
