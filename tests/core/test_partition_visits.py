"""Visits: who may leave, where to, and that no visit raises the cost."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.reassign import compare_with_centers, savings
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params
from setanon_core.partition.visits import (
    compare_at_place,
    destinations,
    reopen_at_place,
    spare_records,
)
from setanon_core.runtime.column_files import store_columns


@pytest.mark.parametrize("seed", range(20))
def test_groups_keep_k_users_without_the_spare_records(seed):
    rng = np.random.default_rng(seed)
    records = random_records(rng, 60, 5, 25)
    k = int(rng.integers(2, 5))
    labels = rng.integers(0, 5, 60)
    users = [len(np.unique(records.users[labels == g])) for g in range(5)]
    labels = np.where(np.array(users)[labels] < k, WITHDRAWN, labels)
    wanted = rng.random(60) < 0.8
    gain = rng.integers(1, 5, 60)
    spare = spare_records(records, labels, wanted, gain, k)
    assert not (spare & ~wanted).any()
    assert spare[wanted & (labels == WITHDRAWN)].all()
    staying = np.where(spare, WITHDRAWN, labels)
    for g in np.unique(labels[labels >= 0]).tolist():
        assert len(np.unique(records.users[staying == g])) >= k
        # Maximal: no other wanted record of the group could leave too.
        for i in np.flatnonzero(wanted & (staying == g)).tolist():
            others = staying.copy()
            others[i] = WITHDRAWN
            assert len(np.unique(records.users[others == g])) < k


def test_the_record_with_the_greatest_gain_leaves_first():
    records = Records.from_sets([{1}] * 4)
    spare = spare_records(records, np.zeros(4, int), np.ones(4, bool), np.array([1, 3, 2, 3]), 3)
    assert spare.tolist() == [False, True, False, False]


def test_a_record_goes_to_the_first_other_place_that_may_save_more():
    sizes = np.array([[3, 2, 1, 0]] * 6)
    choices = np.array([[0, 0, 1, 2]] * 6)
    here, saving = np.array([0, 1, 0, 1, 3, 0]), np.array([0, 0, 1, 2, 3, -1])
    assert destinations(choices, sizes, here, saving).tolist() == [1, 0, 0, 0, 3, 1]


def test_centers_with_items_that_no_visitor_has_are_compared_correctly():
    sets = Records.from_columns([3, 8, 8], [0, 2, 3], vocabulary=range(10))
    centers = Records.from_columns([1, 3, 8, 8, 9], [0, 2, 3, 5], vocabulary=range(10))
    saving = np.zeros(2, np.int64)
    columns = sets.items, sets.offsets, saving, centers.items, centers.offsets
    at_place = compare_at_place((store_columns(*columns), Params(3)))
    whole = compare_with_centers(sets, saving, centers, Params(3))
    assert [column.tolist() for column in at_place] == [column.tolist() for column in whole]
    assert [column.tolist() for column in at_place] == [[1, 1], [1, 1]]


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_new_groups_never_cost_more_than_the_present_ones_and_what_visitors_save(operations):
    rng = np.random.default_rng(4)
    opened = 0
    for _ in range(60):
        records = random_records(rng, int(rng.integers(10, 50)), 6, 30)
        params = Params(int(rng.integers(2, 4)), operations=operations, min_owners=0)
        labels = rng.integers(0, 3, len(records))
        rows, centers = flip(records, labels, operations)
        visiting = rng.random(len(records)) < 0.5
        if (fewest_users(records, np.where(visiting, WITHDRAWN, rows)) or 0) < params.k:
            continue
        saving = savings(records, rows, centers)
        saving[visiting] = rng.integers(0, 3, visiting.sum())
        own = np.where(visiting, WITHDRAWN, rows)
        columns = records.items, records.offsets, records.users, own, saving
        moved = reopen_at_place((store_columns(*columns), params, len(centers)))
        assert (moved[~visiting & (moved < len(centers))] >= -1).all()
        joined = visiting & (moved != WITHDRAWN)
        away = visiting & (moved == WITHDRAWN)
        # A visitor that stays away saves what it saves at home.
        before = grouping_cost(records, own, operations) - saving[visiting].sum()
        after = grouping_cost(records, moved, operations) - saving[away].sum()
        assert after <= before
        assert (fewest_users(records, moved) or params.k) >= params.k
        assert set(moved[joined].tolist()).isdisjoint(range(len(centers)))
        opened += int(moved.max(initial=0)) >= len(centers)
    assert opened > 5
