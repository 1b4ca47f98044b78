"""Itemset counts by parts, against an enumeration of all subsets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from support.itemsets import all_itemsets
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.partition import itemset_counts as module
from setanon_core.partition.itemset_counts import (
    FrequentItemsets,
    add_counts,
    candidates,
    held_itemsets,
)


def items_of_sets(sets: Sets) -> list[tuple[int, ...]]:
    return [tuple(part.tolist()) for part in np.split(sets.items, sets.offsets[1:-1])]


def supports(sets: Sets, min_support: int) -> dict[tuple[int, ...], int]:
    """Every itemset of at most 8 items that `min_support` sets contain, by enumeration."""
    counts = Counter(
        subset
        for items in items_of_sets(sets)
        for size in range(1, min(len(items), 8) + 1)
        for subset in combinations(items, size)
    )
    return {subset: count for subset, count in counts.items() if count >= min_support}


def supports_of(frequent: FrequentItemsets) -> dict[tuple[int, ...], int]:
    return {
        tuple(items): count
        for level, (keys, counts) in enumerate(frequent.levels)
        for items, count in zip(
            frequent.items_of(level, np.arange(len(keys))).tolist(), counts.tolist(), strict=True
        )
    }


@pytest.mark.parametrize("seed", range(20))
def test_all_frequent_itemsets_are_counted(seed):
    rng = np.random.default_rng(seed)
    records = random_records(rng, int(rng.integers(1, 60)), int(rng.integers(2, 9)))
    min_support = int(rng.integers(1, 6))
    assert supports_of(all_itemsets(records, min_support)) == supports(records, min_support)


@pytest.mark.parametrize("seed", range(10))
def test_counts_of_parts_add_up_on_every_level(seed):
    rng = np.random.default_rng(seed)
    records = random_records(rng, 60, 7)
    frequent = FrequentItemsets(records.width)
    part_of = rng.integers(0, 4, len(records))
    parts = [records.take(np.flatnonzero(part_of == part)) for part in range(4)]
    while not frequent.complete:
        whole = candidates(records, frequent)
        summed = add_counts(candidates(part, frequent) for part in parts)
        assert summed.keys.tolist() == whole.keys.tolist()
        assert summed.counts.tolist() == whole.counts.tolist()
        frequent = frequent.with_level(whole, 3)
    assert len(frequent.levels) > 2


def test_each_set_holds_the_frequent_itemsets_that_it_contains():
    records = random_records(np.random.default_rng(3), 40, 6)
    frequent = all_itemsets(records, 4)
    expected = supports(records, 4)
    for level, entries in enumerate(held_itemsets(records, frequent)):
        itemsets = frequent.items_of(level, entries.itemset).tolist()
        held = list(zip(entries.row.tolist(), map(tuple, itemsets), strict=True))
        assert held == [
            (row, subset)
            for row, items in enumerate(items_of_sets(records))
            for subset in combinations(items, level + 1)
            if subset in expected
        ]


def test_itemsets_end_at_eight_items():
    records = Records.from_sets([set(range(10))] * 3)
    frequent = all_itemsets(records, 3)
    assert [len(keys) for keys, _ in frequent.levels] == [10, 45, 120, 210, 252, 210, 120, 45]


def test_a_set_with_too_many_candidates_is_not_extended_and_others_are(monkeypatch):
    monkeypatch.setattr(module, "EXTENSIONS", 10)
    records = Records.from_sets([{1, 2, 3}] * 3 + [set(range(20, 40))] * 3)
    frequent = all_itemsets(records, 3)
    assert [len(keys) for keys, _ in frequent.levels] == [23, 3, 1]


def test_the_rarest_item_has_the_lowest_support_and_then_the_lowest_number():
    records = Records.from_sets([{0, 1, 2}] * 2 + [{0}])
    frequent = all_itemsets(records, 2)
    assert [items.tolist() for items in frequent.rarest_items] == [[0, 1, 2], [1, 2, 1], [1]]


def test_no_sets_have_no_itemsets():
    assert all_itemsets(Records.from_sets([]), 2).levels == ()
    assert all_itemsets(Records.from_sets([set(), set()]), 1).levels == ()
