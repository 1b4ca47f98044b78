"""Attach and reassign, held against every center tried one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve import reassign as module
from setanon_core.grouping.improve.reassign import nearest_centers, reassign, savings
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params

SETS = st.lists(st.frozensets(st.integers(0, 4)), min_size=1, max_size=6)


def encoded(sets):
    """Sets of numbers below 5 as they are, with no vocabulary in between."""
    items = [item for one in sets for item in sorted(one)]
    return Records(
        np.array(items, np.int64),
        np.cumsum([0, *map(len, sets)]),
        np.arange(len(sets)),
    )


def by_hand(one, centers, operations):
    """The most that a center saves of a set, and the first such center; 0 is withdrawal."""
    best, where = 0, WITHDRAWN
    for c, center in enumerate(centers):
        saved = len(one) - len(one ^ center)
        if operations == "deletions" and not center <= one:
            continue
        if saved > best:
            best, where = saved, c
    return where, best


@given(SETS, st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=1, max_size=5))
def test_the_nearest_center_is_found_and_withdrawal_where_none_saves(sets, centers):
    for operations in ("both", "deletions"):
        expected = [by_hand(one, centers, operations) for one in sets]
        for pairs in (module.PAIRS_AT_ONCE, 1, 3):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "PAIRS_AT_ONCE", pairs)
                target, saved = nearest_centers(
                    encoded(sets), encoded(centers), Params(2, operations=operations)
                )
            assert list(zip(target.tolist(), saved.tolist(), strict=True)) == expected


@given(
    SETS, st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=1, max_size=5), st.data()
)
def test_only_centers_that_save_more_than_the_present_one_are_found(sets, centers, data):
    least = [data.draw(st.integers(-2, len(one))) for one in sets]
    for operations in ("both", "deletions"):
        expected = [by_hand(one, centers, operations) for one in sets]
        due = [
            found if found[1] > have else (WITHDRAWN, 0)
            for found, have in zip(expected, least, strict=True)
        ]

        target, saved = nearest_centers(
            encoded(sets), encoded(centers), Params(2, operations=operations), np.array(least)
        )

        assert list(zip(target.tolist(), saved.tolist(), strict=True)) == due


@given(SETS, st.data())
def test_what_a_record_saves_is_its_size_less_its_cost(sets, data):
    center = st.frozensets(st.integers(0, 4), min_size=1)
    centers = data.draw(st.lists(center, min_size=1, max_size=3))
    where = st.integers(WITHDRAWN, len(centers) - 1)
    rows = data.draw(st.lists(where, min_size=len(sets), max_size=len(sets)))
    records = encoded([*sets, frozenset(range(5))])  # so that every item is known
    rows = [*rows, 0]
    saved = savings(records, np.array(rows), encoded(centers)).tolist()
    for one, row, value in zip([*sets, frozenset(range(5))], rows, saved, strict=True):
        assert value == (0 if row == WITHDRAWN else len(one) - len(one ^ centers[row]))


def feasible(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 50)), int(rng.integers(2, 5))
    data = random_records(rng, n, int(rng.integers(2, 8)), (None, n // 2, 6)[seed % 3])
    labels = rng.integers(WITHDRAWN, max(n // (2 * k), 1), n)
    for label in np.unique(labels):
        if len(np.unique(data.users[labels == label])) < k:
            labels[labels == label] = WITHDRAWN
    return data, labels, k


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_rescue_never_costs_more_and_keeps_k_users(operations):
    cheaper = 0
    for seed in range(80):
        data, labels, k = feasible(seed)
        found = reassign(data, labels, Params(k, operations=operations))
        before = grouping_cost(data, labels.tolist(), operations)
        after = grouping_cost(data, found.tolist(), operations)
        assert after <= before
        assert (fewest_users(data, found.tolist()) or k) >= k
        cheaper += after < before
    assert cheaper > 20


def test_rescue_does_not_touch_additions():
    data, labels, k = feasible(0)
    assert reassign(data, labels, Params(k, operations="additions")) is labels


def test_a_withdrawn_record_joins_the_center_that_saves_most_of_it():
    data = Records.from_sets([{1, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 4, 5}, {1}, {5}])
    labels = np.array([0, 0, 1, 1, -1, -1, -1])
    rows = reassign(data, labels, Params(2)).tolist()
    assert rows[4] == rows[2] == rows[3]
    # {1} would cost one addition at {1, 2}, as much as withdrawing it; {5} has no center.
    assert rows[5:] == [WITHDRAWN, WITHDRAWN]


def test_nobody_leaves_a_group_that_needs_them():
    # The third record is {3} in all but its group, which without it has one user too few.
    data = Records.from_sets([{1}, {1}, {3}, {3}, {3}, {1}])
    labels = np.array([0, 0, 0, 1, 1, 1])
    rows = reassign(data, labels, Params(3))
    assert (fewest_users(data, rows.tolist()) or 3) >= 3
    twice = Records.from_sets([{1}, {1}, {3}, {3}, {3}, {1}], [0, 1, 1, 2, 3, 4])
    free = reassign(twice, labels, Params(2)).tolist()
    assert free[2] == free[3]


def test_nothing_to_attach_to_is_fine():
    data = Records.from_sets([{1}, {2}, set()])
    withdrawn = np.full(3, WITHDRAWN)
    for operations in OPERATIONS:
        found = reassign(data, withdrawn, Params(2, operations=operations))
        assert found.tolist() == withdrawn.tolist()


def test_rescue_stops_where_nothing_is_gained():
    for seed in range(20):
        data, labels, k = feasible(seed)
        rows, _ = flip(data, reassign(data, labels, Params(k)))
        for _ in range(9):
            rows = reassign(data, rows, Params(k))
        assert (reassign(data, rows, Params(k)) == rows).all()
