"""Halving: every group has k users, no record is withdrawn, no group can be divided further."""

import numpy as np
from support.oracles import fewest_users, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts.halving import halving
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params


def instances(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 60))
        records = random_records(rng, n, int(rng.integers(2, 9)), (None, n // 2 + 1, 4)[seed % 3])
        params = Params(int(rng.integers(2, 5)), operations="additions")
        if records.n_users >= params.k:
            yield records, params


def test_every_group_has_k_users_and_no_record_is_withdrawn():
    for records, params in instances(60):
        labels = halving(records, params).labels
        assert WITHDRAWN not in labels
        assert fewest_users(records, labels.tolist()) >= params.k


def test_no_item_divides_a_group_into_two_of_k_users():
    for records, params in instances(60):
        labels, masks = halving(records, params).labels, records.bitmasks()
        for label in np.unique(labels):
            inside = np.flatnonzero(labels == label).tolist()
            for item in range(records.width):
                halves = [
                    {int(records.users[i]) for i in inside if (masks[i] >> item & 1) == half}
                    for half in (0, 1)
                ]
                assert min(map(len, halves)) < params.k


def test_labels_have_no_gaps():
    for records, params in instances(20):
        labels = halving(records, params).labels
        assert np.unique(labels).tolist() == list(range(labels.max() + 1))


def test_the_item_that_divides_most_evenly_is_used_first():
    sets = [{1}] * 2 + [{1, 2}] * 2 + [{2}] * 2 + [{3}] * 2
    labels = halving(Records.from_sets(sets), Params(2, operations="additions")).labels.tolist()
    assert len(set(labels)) == 4
    assert all(labels[i] == labels[i + 1] for i in range(0, 8, 2))


def test_records_that_no_item_divides_are_one_group():
    for sets in ([{1}, {2}, {3}], [set()] * 5, [{1}] * 5):
        labels = halving(Records.from_sets(sets), Params(2, operations="additions")).labels
        assert labels.tolist() == [0] * len(sets)


def test_several_records_of_one_user_are_not_a_half():
    records = Records.from_sets([{1}] * 4 + [{2}] * 4, [0, 0, 0, 0, 1, 2, 3, 4])
    assert halving(records, Params(2, operations="additions")).labels.tolist() == [0] * 8
