"""Algorithm 1 and its cost against a direct implementation with Python sets."""

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
    """Sets of numbers, and a label for each; labels have gaps, and some are WITHDRAWN."""
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


def expected_sets(sets, labels, operations):
    """The published set of each record; None if its center is empty or it is withdrawn."""
    groups = {}
    for members, label in zip(sets, labels, strict=True):
        groups.setdefault(label, []).append(members)
    centers = {label: CENTER[operations](members) for label, members in groups.items()}
    return [None if label == WITHDRAWN else centers[label] or None for label in labels]


def flip_sets(sets, labels, operations):
    """Run `flip`: the published set of each record, the labels, the centers and the records."""
    # An additional record with all items fixes the item numbers; it is removed again.
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
    published, *_ = flip_sets(*data, operations)
    assert published == expected_sets(*data, operations)


@given(grouped(), OPERATION)
def test_centers_are_distinct_nonempty_used_and_sorted(data, operations):
    _, rows, centers, _ = flip_sets(*data, operations)
    assert centers.ranks.tolist() == list(range(len(centers)))
    assert (centers.sizes > 0).all()
    assert set(rows.tolist()) - {WITHDRAWN} == set(range(len(centers)))


@given(grouped(), OPERATION)
def test_additions_and_deletions_sum_to_the_hamming_distances(data, operations):
    sets, _ = data
    published, rows, centers, records = flip_sets(*data, operations)
    pairs = [(old, new or frozenset()) for old, new in zip(sets, published, strict=True)]
    cost = cost_of(records, rows, centers)
    assert cost.additions == sum(len(new - old) for old, new in pairs)
    assert cost.deletions == sum(len(old - new) for old, new in pairs)
    assert cost.total == sum(len(old ^ new) for old, new in pairs)
    assert cost.withdrawals == published.count(None)


@given(grouped(), st.lists(st.frozensets(st.integers(0, 9), min_size=1), min_size=1, max_size=4))
def test_the_cost_is_exact_for_arbitrary_centers(data, centers):
    sets, labels = data
    rows = [label if label == WITHDRAWN else label % len(centers) for label in labels]
    encoded = Records.from_sets([*sets, *centers, range(10)])
    records = encoded.take(np.arange(len(sets)))
    center_sets = encoded.take(np.arange(len(sets), len(sets) + len(centers)))
    cost = cost_of(records, np.asarray(rows, np.int64), center_sets)
    new_sets = [frozenset() if row == WITHDRAWN else centers[row] for row in rows]
    assert cost.additions == sum(len(b - a) for a, b in zip(sets, new_sets, strict=True))
    assert cost.deletions == sum(len(a - b) for a, b in zip(sets, new_sets, strict=True))
    assert cost.withdrawals == rows.count(WITHDRAWN)


@given(grouped())
def test_a_forbidden_operation_is_never_used(data):
    _, rows, centers, records = flip_sets(*data, "additions")
    published = rows != WITHDRAWN
    published_records = records.take(np.flatnonzero(published))
    assert cost_of(published_records, rows[published], centers).deletions == 0
    _, rows, centers, records = flip_sets(*data, "deletions")
    assert cost_of(records, rows, centers).additions == 0


@given(grouped(), OPERATION)
def test_flipping_published_sets_changes_nothing(data, operations):
    published, rows, _, _ = flip_sets(*data, operations)
    again, *_ = flip_sets([new or frozenset() for new in published], rows.tolist(), operations)
    assert again == published


@pytest.mark.parametrize(
    ("operations", "published"),
    [("both", [{1}] * 4), ("additions", [{1, 2, 3}] * 4), ("deletions", [{1}] * 4)],
)
def test_groups_with_equal_centers_are_merged(operations, published):
    sets = [frozenset(s) for s in ({1, 2}, {1, 3}, {1, 3}, {1, 2})]
    new, rows, centers, _ = flip_sets(sets, [8, 8, 5, 5], operations)
    assert new == published
    assert rows.tolist() == [0, 0, 0, 0]
    assert len(centers) == 1


def test_a_tie_deletes_the_item_and_a_group_with_an_empty_center_is_withdrawn():
    new, rows, centers, records = flip_sets([frozenset({1}), frozenset({2})], [0, 0], "both")
    assert new == [None, None]
    assert len(centers) == 0
    cost = cost_of(records, rows, centers)
    assert (cost.additions, cost.deletions, cost.withdrawals) == (0, 2, 2)


def test_items_are_added_to_an_empty_record_unless_only_deletions_are_allowed():
    sets = [frozenset({1}), frozenset({1}), frozenset()]
    assert flip_sets(sets, [0, 0, 0], "both")[0] == [{1}] * 3
    assert flip_sets(sets, [0, 0, 0], "additions")[0] == [{1}] * 3
    assert flip_sets(sets, [0, 0, 0], "deletions")[0] == [None] * 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_without_items_or_groups_nothing_is_published(operations):
    assert flip_sets([], [], operations)[0] == []
    assert flip_sets([frozenset()] * 3, [0, 0, 0], operations)[0] == [None] * 3
    assert flip_sets([frozenset({1})] * 3, [WITHDRAWN] * 3, operations)[0] == [None] * 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_flip_cost_is_the_cost_of_the_centers_of_flip(operations):
    rng = np.random.default_rng(2)
    for _ in range(50):
        data = random_records(rng, int(rng.integers(1, 12)), 5)
        labels = rng.integers(-1, 4, len(data))
        expected = cost_of(data, *flip(data, labels, operations))
        assert flip_cost(data, labels, operations) == expected


OTHER_LABELS = {
    "too large for an array of counts": lambda labels: 10**15 + labels,
    "negative, but never -1": lambda labels: -2 * (9 - labels),
    "small and too large": lambda labels: np.where(labels % 2, 10**15 + labels, labels),
    "both": lambda labels: np.where(labels % 2, 10**15 + labels, -2 * (9 - labels)),
}


@pytest.mark.parametrize("kind", OTHER_LABELS)
@given(seed=st.integers(0, 99), operations=st.sampled_from(OPERATIONS))
def test_labels_may_be_any_integers(kind, seed, operations):
    data = random_records(np.random.default_rng(seed), 9, 5)
    labels = np.arange(len(data)) // 2
    other_labels = OTHER_LABELS[kind](labels)

    rows, centers = flip(data, labels, operations)
    other_rows, other_centers = flip(data, other_labels, operations)

    assert other_rows.tolist() == rows.tolist()
    assert other_centers.items.tolist() == centers.items.tolist()
    assert flip_cost(data, other_labels, operations) == flip_cost(data, labels, operations)
