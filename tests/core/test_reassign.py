"""Reassigning records to nearer centers, against a comparison with every center."""

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
CENTERS = st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=1, max_size=5)


def encode(sets):
    """Sets of numbers below 5 as records with these numbers as items."""
    items = [item for members in sets for item in sorted(members)]
    return Records(np.array(items, np.int64), np.cumsum([0, *map(len, sets)]), np.arange(len(sets)))


def best_center(members, centers, operations):
    """The first center with the greatest saving, and the saving; 0 for withdrawal."""
    best, saving = WITHDRAWN, 0
    for c, center in enumerate(centers):
        if operations == "deletions" and not center <= members:
            continue
        if len(members) - len(members ^ center) > saving:
            best, saving = c, len(members) - len(members ^ center)
    return best, saving


@given(SETS, CENTERS)
def test_the_nearest_center_is_returned_or_withdrawal_if_none_saves(sets, centers):
    for operations in ("both", "deletions"):
        expected = [best_center(members, centers, operations) for members in sets]
        for pairs in (module.PAIRS_AT_ONCE, 1, 3):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(module, "PAIRS_AT_ONCE", pairs)
                target, saving = nearest_centers(
                    encode(sets), encode(centers), Params(2, operations=operations)
                )
            assert list(zip(target.tolist(), saving.tolist(), strict=True)) == expected


@given(SETS, CENTERS, st.data())
def test_only_centers_that_save_more_than_the_minimum_are_returned(sets, centers, data):
    min_saving = [data.draw(st.integers(-2, len(members))) for members in sets]
    for operations in ("both", "deletions"):
        best = [best_center(members, centers, operations) for members in sets]
        expected = [
            pair if pair[1] > minimum else (WITHDRAWN, 0)
            for pair, minimum in zip(best, min_saving, strict=True)
        ]

        target, saving = nearest_centers(
            encode(sets), encode(centers), Params(2, operations=operations), np.array(min_saving)
        )

        assert list(zip(target.tolist(), saving.tolist(), strict=True)) == expected


@given(SETS, st.data())
def test_the_saving_of_a_record_is_its_size_less_its_cost(sets, data):
    centers = data.draw(CENTERS)
    row = st.integers(WITHDRAWN, len(centers) - 1)
    rows = [*data.draw(st.lists(row, min_size=len(sets), max_size=len(sets))), 0]
    sets = [*sets, frozenset(range(5))]  # so that the records contain every item
    saving = savings(encode(sets), np.array(rows), encode(centers)).tolist()
    for members, row, value in zip(sets, rows, saving, strict=True):
        assert value == (0 if row == WITHDRAWN else len(members) - len(members ^ centers[row]))


def feasible_labels(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(5, 50)), int(rng.integers(2, 5))
    records = random_records(rng, n, int(rng.integers(2, 8)), (None, n // 2, 6)[seed % 3])
    labels = rng.integers(WITHDRAWN, max(n // (2 * k), 1), n)
    for label in np.unique(labels):
        if len(np.unique(records.users[labels == label])) < k:
            labels[labels == label] = WITHDRAWN
    return records, labels, k


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_the_cost_never_rises_and_every_group_keeps_k_users(operations):
    cheaper = 0
    for seed in range(80):
        records, labels, k = feasible_labels(seed)
        reassigned = reassign(records, labels, Params(k, operations=operations))
        before = grouping_cost(records, labels.tolist(), operations)
        after = grouping_cost(records, reassigned.tolist(), operations)
        assert after <= before
        assert (fewest_users(records, reassigned.tolist()) or k) >= k
        cheaper += after < before
    assert cheaper > 20


def test_under_additions_the_labels_are_returned_unchanged():
    records, labels, k = feasible_labels(0)
    assert reassign(records, labels, Params(k, operations="additions")) is labels


def test_a_withdrawn_record_joins_the_center_with_the_greatest_saving():
    records = Records.from_sets([{1, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 4, 5}, {1}, {5}])
    labels = np.array([0, 0, 1, 1, -1, -1, -1])
    rows = reassign(records, labels, Params(2)).tolist()
    assert rows[4] == rows[2] == rows[3]
    # {1} costs one addition at {1, 2}, as much as withdrawing it; no center contains 5.
    assert rows[5:] == [WITHDRAWN, WITHDRAWN]


def test_a_group_of_k_users_loses_no_record():
    # The third record would be nearer to the center {3}, but its group has only k users.
    sets = [{1}, {1}, {3}, {3}, {3}, {1}]
    labels = np.array([0, 0, 0, 1, 1, 1])
    records = Records.from_sets(sets)
    rows = reassign(records, labels, Params(3))
    assert (fewest_users(records, rows.tolist()) or 3) >= 3
    # With a second record of its user in the group, the third record may leave.
    records = Records.from_sets(sets, [0, 1, 1, 2, 3, 4])
    rows = reassign(records, labels, Params(2)).tolist()
    assert rows[2] == rows[3]


def test_without_any_center_all_records_stay_withdrawn():
    records = Records.from_sets([{1}, {2}, set()])
    withdrawn = np.full(3, WITHDRAWN)
    for operations in OPERATIONS:
        rows = reassign(records, withdrawn, Params(2, operations=operations))
        assert rows.tolist() == withdrawn.tolist()


def test_repeated_reassignment_reaches_a_fixed_point():
    for seed in range(20):
        records, labels, k = feasible_labels(seed)
        rows, _ = flip(records, reassign(records, labels, Params(k)))
        for _ in range(9):
            rows = reassign(records, rows, Params(k))
        assert (reassign(records, rows, Params(k)) == rows).all()
