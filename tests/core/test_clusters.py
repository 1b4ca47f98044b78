"""Cluster keys of section 5.2: equal exactly if the first p Min-Hashes are equal."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.keywords.clusters import cluster_keys, number_clusters
from setanon_core.keywords.minhash import permuted_hashes, signatures, word_hashes

SET = st.sets(st.sampled_from("abcdefgh"), max_size=4)
SETS = st.lists(SET, min_size=1, max_size=25)


def records_and_hashes(sets):
    records = Records.from_sets(sets)
    return records, word_hashes(map(str, records.vocabulary))


@given(SETS)
def test_keys_are_equal_exactly_if_all_their_min_hashes_are(sets):
    records, hashes = records_and_hashes(sets)
    keys = cluster_keys(records, hashes, rounds=(4, 3, 2, 1), seed=5)
    values = signatures(records, permuted_hashes(hashes, range(5, 9)))

    for column, p in enumerate((4, 3, 2, 1)):
        expected = (values[:, None, :p] == values[None, :, :p]).all(axis=2)
        assert ((keys[:, None, column] == keys[None, :, column]) == expected).all()


@given(st.lists(SET, min_size=1, max_size=5))
def test_key_depends_on_the_record_alone(sets):
    records, hashes = records_and_hashes([*sets, set("abcdefgh")])
    together = cluster_keys(records, hashes)[:, :3]

    for position in range(len(sets)):
        alone = records.subset(np.array([position]))
        assert cluster_keys(alone, hashes)[0, :3].tolist() == together[position].tolist()


def test_later_rounds_only_merge_clusters():
    rng = np.random.default_rng(3)
    records, hashes = records_and_hashes(
        [set(rng.choice(list("abcdefghij"), 3)) for _ in range(300)]
    )
    keys = cluster_keys(records, hashes)

    for finer, coarser in ((0, 1), (1, 2)):
        pairs = set(
            zip(number_clusters(keys[:, finer]), number_clusters(keys[:, coarser]), strict=True)
        )
        assert len(pairs) == len(set(number_clusters(keys[:, finer]).tolist()))
