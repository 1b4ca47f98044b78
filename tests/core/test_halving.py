"""Halving: groups of k users, nobody withdrawn, and no group that an item could still divide."""

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
        data = random_records(rng, n, int(rng.integers(2, 9)), (None, n // 2 + 1, 4)[seed % 3])
        params = Params(int(rng.integers(2, 5)), operations="additions")
        if data.n_users >= params.k:
            yield data, params


def test_every_group_has_k_users_and_nothing_is_withdrawn():
    for data, params in instances(60):
        labels = halving(data, params).labels
        assert WITHDRAWN not in labels
        assert fewest_users(data, labels.tolist()) >= params.k


def test_no_item_divides_a_group_any_further():
    for data, params in instances(60):
        labels, masks = halving(data, params).labels, data.bitmasks()
        for label in np.unique(labels):
            inside = np.flatnonzero(labels == label).tolist()
            for item in range(data.width):
                sides = [
                    {int(data.users[i]) for i in inside if (masks[i] >> item & 1) == side}
                    for side in (0, 1)
                ]
                assert min(map(len, sides)) < params.k


def test_labels_are_numbers_without_gaps():
    for data, params in instances(20):
        labels = halving(data, params).labels
        assert np.unique(labels).tolist() == list(range(labels.max() + 1))


def test_the_item_nearest_to_one_half_divides_first():
    sets = [{1}] * 2 + [{1, 2}] * 2 + [{2}] * 2 + [{3}] * 2
    labels = halving(Records.from_sets(sets), Params(2, operations="additions")).labels.tolist()
    assert len(set(labels)) == 4
    assert all(labels[i] == labels[i + 1] for i in range(0, 8, 2))


def test_too_few_records_to_halve_stay_together():
    for sets in ([{1}, {2}, {3}], [set()] * 5, [{1}] * 5):
        labels = halving(Records.from_sets(sets), Params(2, operations="additions")).labels
        assert labels.tolist() == [0] * len(sets)


def test_records_of_one_user_do_not_make_a_half():
    data = Records.from_sets([{1}] * 4 + [{2}] * 4, [0, 0, 0, 0, 1, 2, 3, 4])
    assert halving(data, Params(2, operations="additions")).labels.tolist() == [0] * 8
