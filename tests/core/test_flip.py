"""Algorithm 1 against a slow and obvious one: count each item of each group, decide, compare."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip, flip_cost
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS

OPERATION = st.sampled_from(OPERATIONS)


@st.composite
def grouped(draw):
    """Some sets of numbers, and a label for each; labels have gaps, and some are WITHDRAWN."""
    sets = draw(st.lists(st.frozensets(st.integers(0, 5), max_size=5), max_size=12))
    label = st.sampled_from([WITHDRAWN, 0, 3, 4, 900])
    return sets, draw(st.lists(label, min_size=len(sets), max_size=len(sets)))


def majority(members):
    ones = Counter(item for member in members for item in member)
    return frozenset(item for item, n1 in ones.items() if n1 > len(members) - n1)


CENTER = {
    "both": majority,
    "additions": lambda members: frozenset().union(*members),
    "deletions": lambda members: frozenset.intersection(*members),
}


def oracle(sets, labels, operations):
    """The published set of each record; None where its center is empty or it was withdrawn."""
    groups = {}
    for members, label in zip(sets, labels, strict=True):
        groups.setdefault(label, []).append(members)
    centers = {label: CENTER[operations](members) for label, members in groups.items()}
    return [None if label == WITHDRAWN else centers[label] or None for label in labels]


def flipped(sets, labels, operations):
    """What `flip` publishes for each record, its labels, centers and the records."""
    # A record with all items pins the numbers of the items; it is taken off again.
    records = Records.from_sets([*sets, range(6)]).take(np.arange(len(sets)))
    rows, centers = flip(records, np.asarray(labels, np.int64), operations)
    contents = [
        frozenset(centers.items[low:high].tolist())
        for low, high in zip(centers.offsets[:-1], centers.offsets[1:], strict=True)
    ]
    published = [None if row == WITHDRAWN else contents[row] for row in rows.tolist()]
    return published, rows, centers, records


@given(grouped(), OPERATION)
def test_every_record_becomes_the_center_of_its_group(data, operations):
    published, *_ = flipped(*data, operations)
    assert published == oracle(*data, operations)


@given(grouped(), OPERATION)
def test_centers_are_distinct_filled_and_in_use_and_come_in_order(data, operations):
    _, rows, centers, _ = flipped(*data, operations)
    assert centers.ranks.tolist() == list(range(len(centers)))
    assert (centers.sizes > 0).all()
    assert set(rows.tolist()) - {WITHDRAWN} == set(range(len(centers)))


@given(grouped(), OPERATION)
def test_the_cost_is_the_sum_of_hamming_distances_told_apart(data, operations):
    sets, _ = data
    published, rows, centers, records = flipped(*data, operations)
    pairs = [(old, new or frozenset()) for old, new in zip(sets, published, strict=True)]
    cost = cost_of(records, rows, centers)
    assert cost.additions == sum(len(new - old) for old, new in pairs)
    assert cost.deletions == sum(len(old - new) for old, new in pairs)
    assert cost.total == sum(len(old ^ new) for old, new in pairs)
    assert cost.withdrawals == published.count(None)


@given(grouped(), st.lists(st.frozensets(st.integers(0, 9), min_size=1), min_size=1, max_size=4))
def test_the_cost_is_right_for_centers_that_no_algorithm_made(data, centers):
    sets, labels = data
    rows = [label if label == WITHDRAWN else label % len(centers) for label in labels]
    both = Records.from_sets([*sets, *centers, range(10)])
    records = both.take(np.arange(len(sets)))
    own = both.take(np.arange(len(sets), len(sets) + len(centers)))
    cost = cost_of(records, np.asarray(rows, np.int64), own)
    new = [frozenset() if row == WITHDRAWN else centers[row] for row in rows]
    assert cost.additions == sum(len(b - a) for a, b in zip(sets, new, strict=True))
    assert cost.deletions == sum(len(a - b) for a, b in zip(sets, new, strict=True))
    assert cost.withdrawals == rows.count(WITHDRAWN)


@given(grouped())
def test_restricted_operations_never_do_what_is_forbidden(data):
    _, rows, centers, records = flipped(*data, "additions")
    kept = rows != WITHDRAWN
    inside = records.take(np.flatnonzero(kept))
    assert cost_of(inside, rows[kept], centers).deletions == 0
    _, rows, centers, records = flipped(*data, "deletions")
    assert cost_of(records, rows, centers).additions == 0


@given(grouped(), OPERATION)
def test_flipping_what_was_flipped_changes_nothing(data, operations):
    published, rows, _, _ = flipped(*data, operations)
    again, *_ = flipped([new or frozenset() for new in published], rows.tolist(), operations)
    assert again == published


@pytest.mark.parametrize(
    ("operations", "published"),
    [("both", [{1}] * 4), ("additions", [{1, 2, 3}] * 4), ("deletions", [{1}] * 4)],
)
def test_groups_with_the_same_center_become_one(operations, published):
    sets = [frozenset(s) for s in ({1, 2}, {1, 3}, {1, 3}, {1, 2})]
    new, rows, centers, _ = flipped(sets, [8, 8, 5, 5], operations)
    assert new == published
    assert rows.tolist() == [0, 0, 0, 0]
    assert len(centers) == 1


def test_a_tie_deletes_and_an_empty_center_withdraws_its_group():
    new, rows, centers, records = flipped([frozenset({1}), frozenset({2})], [0, 0], "both")
    assert new == [None, None]
    assert len(centers) == 0
    cost = cost_of(records, rows, centers)
    assert (cost.additions, cost.deletions, cost.withdrawals) == (0, 2, 2)


def test_an_empty_record_may_be_filled_but_not_by_deletions():
    sets = [frozenset({1}), frozenset({1}), frozenset()]
    assert flipped(sets, [0, 0, 0], "both")[0] == [{1}] * 3
    assert flipped(sets, [0, 0, 0], "additions")[0] == [{1}] * 3
    assert flipped(sets, [0, 0, 0], "deletions")[0] == [None] * 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_nothing_at_all_is_flipped_to_nothing(operations):
    assert flipped([], [], operations)[0] == []
    assert flipped([frozenset()] * 3, [0, 0, 0], operations)[0] == [None] * 3
    assert flipped([frozenset({1})] * 3, [WITHDRAWN] * 3, operations)[0] == [None] * 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_cost_of_a_flip_is_that_of_its_centers(operations):
    rng = np.random.default_rng(2)
    for _ in range(50):
        data = random_records(rng, int(rng.integers(1, 12)), 5)
        labels = rng.integers(-1, 4, len(data))
        expected = cost_of(data, *flip(data, labels, operations))
        assert flip_cost(data, labels, operations) == expected


@given(st.integers(0, 99), st.sampled_from(OPERATIONS))
def test_groups_may_have_any_numbers(seed, operations):
    data = random_records(np.random.default_rng(seed), 9, 5)
    labels = np.arange(len(data)) // 2
    # Further apart than could be counted one by one, and below zero, but never -1.
    named = np.where(labels % 2, 10**15 + labels, -2 * (9 + labels))

    rows, centers = flip(data, labels, operations)
    others, same = flip(data, named, operations)

    assert others.tolist() == rows.tolist()
    assert same.items.tolist() == centers.items.tolist()
    assert flip_cost(data, named, operations) == flip_cost(data, labels, operations)
