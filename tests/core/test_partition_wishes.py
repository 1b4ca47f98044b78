"""The wishes of each record, against an enumeration of its frequent subsets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from support.itemsets import all_itemsets
from support.oracles import random_records

from setanon_core.columns.records import Records
from setanon_core.partition.itemset_counts import add_counts
from setanon_core.partition.wishes import CHOICES, NO_ITEM, Wishes, find_wishes, neighbour_counts


def subsets_by_wish(items, support):
    """The frequent subsets of a record: largest first, then fewest holders, then by items."""
    subsets = [subset for size in range(1, len(items) + 1) for subset in combinations(items, size)]
    return sorted(
        (subset for subset in subsets if subset in support),
        key=lambda subset: (-len(subset), support[subset], subset),
    )


def supports_of(records, min_support):
    counts = Counter(
        subset
        for mask in records.bitmasks()
        for size in range(1, 9)
        for subset in combinations([i for i in range(mask.bit_length()) if mask >> i & 1], size)
    )
    return {subset: count for subset, count in counts.items() if count >= min_support}


@pytest.fixture(params=range(8))
def mined(request):
    rng = np.random.default_rng(request.param)
    records = random_records(rng, 40, int(rng.integers(3, 8)))
    min_support = int(rng.integers(2, 9))
    return records, all_itemsets(records, min_support), supports_of(records, min_support)


def items_of(records):
    return [part.tolist() for part in np.split(records.items, records.offsets[1:-1])]


def test_homes_are_the_rarest_items_of_the_wishes_in_order(mined):
    records, frequent, support = mined
    found = find_wishes(records, frequent)
    for row, items in enumerate(items_of(records)):
        homes: dict[int, int] = {}
        for size in range(len(items), 0, -1):
            # At most `CHOICES` itemsets of each size are considered.
            wishes = [w for w in subsets_by_wish(items, support) if len(w) == size][:CHOICES]
            for wish in wishes:
                homes.setdefault(min(wish, key=lambda item: (support[item,], item)), size)
        expected = list(homes.items())[:CHOICES]
        expected += [(NO_ITEM, 0)] * (CHOICES - len(expected))
        assert list(zip(found.homes[row], found.sizes[row], strict=True)) == expected


def test_the_first_wish_is_the_largest_itemset_of_the_fewest_holders(mined):
    records, frequent, support = mined
    found = find_wishes(records, frequent)
    for row, items in enumerate(items_of(records)):
        wishes = subsets_by_wish(items, support)
        level = int(found.level[row])
        assert level == (len(wishes[0]) - 1 if wishes else -1)
        if wishes:
            assert tuple(frequent.items_of(level, found.itemset[[row]])[0].tolist()) == wishes[0]


def test_wishes_of_parts_are_those_of_the_whole(mined):
    records, frequent, _ = mined
    whole = find_wishes(records, frequent)
    parts = [
        find_wishes(records.take(rows), frequent) for rows in np.split(np.arange(40), [7, 7, 30])
    ]
    for column, columns in zip(whole, zip(*parts, strict=True), strict=True):
        assert np.array_equal(column, np.concatenate(columns))


def test_neighbours_are_counted_in_first_wishes_and_parts_add_up(mined):
    records, frequent, support = mined
    expected: Counter[int] = Counter()
    for items in items_of(records):
        for wish in subsets_by_wish(items, support)[:1]:
            by_rank = sorted(wish, key=lambda item: (support[item,], item))
            expected.update(a * frequent.width + b for a, b in combinations(by_rank, 2))
    found = find_wishes(records, frequent)
    halves = [Wishes(*(column[part] for column in found)) for part in (slice(9), slice(9, None))]
    for counts in (
        neighbour_counts(found, frequent),
        add_counts(neighbour_counts(half, frequent) for half in halves),
    ):
        assert dict(zip(counts.keys.tolist(), counts.counts.tolist(), strict=True)) == expected


def test_records_without_a_frequent_item_have_no_wish():
    records = Records.from_sets([{1}, {2}, set()])
    found = find_wishes(records, all_itemsets(records, 2))
    assert (found.homes == NO_ITEM).all()
    assert found.level.tolist() == [-1, -1, -1]
