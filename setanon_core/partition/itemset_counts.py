"""Count frequent itemsets level by level, part by part: the counts of the parts add up.

An itemset of level s has s items. It is numbered within its level, in lexicographic order, and is
identified by a key: the number of its prefix (all items except the last) and its last item.

Paper:      none; see `itemsets`, whose itemsets these are.
Guarantee:  all itemsets of at most `MAX_ITEMS` items that `min_support` records contain, unless a
            record exceeds `EXTENSIONS`. The counts depend on the records alone, not on the parts.
Complexity: O(entries * log itemsets) per level; entries = pairs (itemset, record that contains it).
Deviation:  a record with very many candidates is not extended further, by its own size alone;
            `itemsets` decides this for all records together.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    inverse_permutation,
    run_starts,
)
from setanon_core.columns.sets import Sets
from setanon_core.grouping.itemsets import MAX_ITEMS

EXTENSIONS: Final = 5_000
"""Candidates of one record on one level beyond which its itemsets are not extended."""


class Counts(NamedTuple):
    """Keys, ascending, and the count of each; counts of several parts are added by `add_counts`."""

    keys: Ints
    counts: Ints


class Entries(NamedTuple):
    """Pairs (record, itemset of one level that it contains), ordered by record, then by itemset."""

    row: Ints
    prefix: Ints
    itemset: Ints
    item: Ints
    """The last item."""


@dataclass(frozen=True, eq=False, repr=False)
class FrequentItemsets:
    """The frequent itemsets of the levels counted so far: small enough to be held in memory."""

    width: int
    """Number of items."""

    levels: tuple[Counts, ...] = ()
    """For each level the keys `prefix * width + item` and the support; level 1: the items."""

    complete: bool = False
    """Whether no further level has to be counted."""

    def with_level(self, counts: Counts, min_support: int) -> "FrequentItemsets":
        """Add the next level: the candidates that at least `min_support` records contain."""
        frequent = counts.counts >= min_support
        levels = self.levels
        if frequent.any():
            levels = (*levels, Counts(counts.keys[frequent], counts.counts[frequent]))
        complete = not frequent.any() or len(levels) == MAX_ITEMS
        return FrequentItemsets(self.width, levels, complete)

    @cached_property
    def item_rank(self) -> Ints:
        """Rank of each item by support, then by number; items that are not frequent come first."""
        support = np.zeros(self.width, np.int64)
        for items, supports in self.levels[:1]:
            support[items] = supports
        return inverse_permutation(np.argsort(support, kind="stable"))

    @cached_property
    def rarest_items(self) -> tuple[Ints, ...]:
        """For each level, the rarest item of each itemset."""
        rarest: list[Ints] = []
        for keys, _ in self.levels:
            prefix, item = np.divmod(keys, self.width)
            if rarest:
                other = rarest[-1][prefix]
                item = np.where(self.item_rank[item] < self.item_rank[other], item, other)
            rarest.append(item)
        return tuple(rarest)

    def items_of(self, level: int, itemsets: Ints) -> Ints:
        """The items of these itemsets of a level, counted from 0: one row per itemset."""
        columns: list[Ints] = []
        for keys, _ in self.levels[level::-1]:
            itemsets, item = np.divmod(keys[itemsets], self.width)
            columns.append(item)
        return np.column_stack(columns[::-1])


def candidates(sets: Sets, frequent: FrequentItemsets) -> Counts:
    """Count the sets that contain each candidate for the next level.

    A candidate is an itemset whose two prefixes, without the last and without the last but one
    item, are frequent. The engine adds the counts of all parts and keeps the frequent ones.
    """
    if not frequent.levels:
        return _count(np.sort(sets.items).astype(np.int64))
    # Smaller sets contain no candidate.
    large = sets.take(np.flatnonzero(sets.sizes > len(frequent.levels)))
    *_, last = held_itemsets(large, frequent)
    left, right = _sibling_pairs(last)
    return _count(np.sort(last.itemset[left] * frequent.width + last.item[right]))


def add_counts(parts: Iterable[Counts]) -> Counts:
    """Add the counts of several parts, which are read one after another.

    >>> add_counts([Counts(np.array([3, 5]), np.array([1, 2])), Counts(np.array([5]),
    ...     np.array([4]))]).counts.tolist()
    [1, 6]
    """
    none = np.empty(0, np.int64)
    sums = [Counts(none, none)]
    for part in parts:
        sums.append(part)
        # Sums of similar sizes are merged, so that every key is copied a few times only.
        while len(sums) > 1 and len(sums[-2].keys) <= 2 * len(sums[-1].keys):
            sums[-2:] = [_merge(*sums[-2:])]
    while len(sums) > 1:
        sums[-2:] = [_merge(*sums[-2:])]
    return sums[0]


def _merge(left: Counts, right: Counts) -> Counts:
    keys, counts = np.append(left.keys, right.keys), np.append(left.counts, right.counts)
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(run_starts(keys))
    return Counts(keys[starts], np.add.reduceat(counts, starts)) if len(starts) else left


def held_itemsets(sets: Sets, frequent: FrequentItemsets) -> Iterator[Entries]:
    """For each level, the frequent itemsets that each set contains."""
    for level, (keys, _) in enumerate(frequent.levels):
        if level == 0:
            number = np.full(max(frequent.width, sets.width), -1)
            number[keys] = np.arange(len(keys))
            held = np.flatnonzero(number[sets.items] >= 0)
            item = sets.items[held].astype(np.int64)
            entries = Entries(sets.rows[held], np.zeros(len(held), np.int64), number[item], item)
        else:
            left, right = _sibling_pairs(entries)
            key = entries.itemset[left] * frequent.width + entries.item[right]
            # Ascending searches touch neighbouring memory.
            order = np.argsort(key)
            position = np.empty(len(key), np.int64)
            position[order] = np.searchsorted(keys, key[order])
            is_frequent = keys[np.minimum(position, len(keys) - 1)] == key
            left, right = left[is_frequent], right[is_frequent]
            entries = Entries(
                entries.row[left], entries.itemset[left], position[is_frequent], entries.item[right]
            )
        yield entries


def _sibling_pairs(entries: Entries) -> tuple[Ints, Ints]:
    """Pairs of entries of one record with one prefix: each is a candidate of the next level."""
    n = len(entries.row)
    starts = np.flatnonzero(run_starts(entries.row, entries.prefix))
    run_sizes = np.diff(starts, append=n)
    later = np.repeat(starts + run_sizes, run_sizes) - np.arange(n) - 1
    candidates_of_row = np.bincount(entries.row, later)
    later[candidates_of_row[entries.row] > EXTENSIONS] = 0
    left = np.repeat(np.arange(n), later)
    return left, concat_ranges(np.arange(n) + 1, later)


def _count(ascending: Ints) -> Counts:
    starts = np.flatnonzero(run_starts(ascending))
    return Counts(ascending[starts], np.diff(starts, append=len(ascending)))
