"""Level-wise itemset mining: the frequent itemsets of one size, and their extension by one item.

An entry of a level is an itemset, a set that contains it, and the position of the itemset's last
item among the item occurrences. Entries are int32, because there may be very many, and are ordered
by itemset, then by set.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Int32s, Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets

ENTRIES_AT_ONCE: Final = 1 << 18
"""Entries that are extended together: bounds memory."""


class Level(NamedTuple):
    """The frequent itemsets of one size in lexicographic order, and their entries."""

    items: Int32s
    """One row per itemset."""

    itemset: Int32s
    """Itemset number of each entry."""

    position: Int32s
    """Position of the last item of each entry."""

    @property
    def size(self) -> int:
        """Items per itemset."""
        return int(self.items.shape[1])


class LevelMiner:
    """Mines itemsets of sets with weights; a frequent itemset has a weight of `min_support`."""

    def __init__(self, sets: Sets, weights: Ints, min_support: int) -> None:
        """Remove the items that are not frequent."""
        total = np.bincount(sets.items, weights[sets.rows], minlength=sets.width)
        self._frequent = np.flatnonzero(total >= min_support)
        number = np.zeros(sets.width, np.int32)
        number[self._frequent] = np.arange(len(self._frequent))
        kept = sets.keep_items(total >= min_support)
        self._column = number[kept.items]
        self._row_of = kept.rows.astype(np.int32)
        self._set_end = kept.offsets[1:].astype(np.int32)
        self._weights, self._min_support = weights, min_support

    def first_level(self) -> Level:
        """The frequent items."""
        position = np.argsort(self._column, kind="stable").astype(np.int32)
        return Level(self._frequent[:, None].astype(np.int32), self._column[position], position)

    def rows(self, level: Level) -> Int32s:
        """Set number of each entry."""
        return self._row_of[level.position]

    def later_items(self, level: Level) -> Int32s:
        """For each entry, the number of frequent items after the last item in its set."""
        later: Int32s = self._set_end[self.rows(level)] - level.position - 1
        return later

    def support(self, level: Level) -> Ints:
        """Total weight of the sets that contain each itemset."""
        weights = self._weights[self.rows(level)]
        return np.bincount(level.itemset, weights, minlength=len(level.items)).astype(np.int64)

    def extend(self, level: Level, keep: Bools) -> Level:
        """The frequent itemsets with one more item; only entries in `keep` are extended."""
        level = level._replace(itemset=level.itemset[keep], position=level.position[keep])
        chunks = [self._keep_frequent(key, position) for key, position in self._extensions(level)]
        earlier = np.cumsum([0, *(len(keys) for _, _, keys in chunks)])
        itemset = np.concatenate(
            [part + np.int32(n) for (_, part, _), n in zip(chunks, earlier, strict=False)]
        )
        position = np.concatenate([part for part, _, _ in chunks])
        keys = np.concatenate([part for _, _, part in chunks])
        return Level(self._items_of(level, keys), itemset, position)

    def count_extensions(self, level: Level) -> tuple[Int32s, Ints]:
        """Items and support of the itemsets that `extend` returns, without their entries."""
        all_keys, supports = [], []
        for key, position in self._extensions(level):
            order = np.argsort(key)
            starts = np.flatnonzero(np.diff(key[order], prepend=-1))
            if len(starts):
                weights = self._weights[self._row_of[position[order]]]
                support = np.add.reduceat(weights, starts)
                is_frequent = support >= self._min_support
                all_keys.append(key[order[starts[is_frequent]]])
                supports.append(support[is_frequent])
        none = [np.empty(0, np.int64)]
        return self._items_of(level, np.concatenate(all_keys or none)), np.concatenate(
            supports or none
        )

    def _items_of(self, level: Level, keys: Ints) -> Int32s:
        parent, last = np.divmod(keys, max(len(self._frequent), 1))
        return np.column_stack((level.items[parent], self._frequent[last].astype(np.int32)))

    def _extensions(self, level: Level) -> Iterator[tuple[Ints, Int32s]]:
        """Extend every entry by each later item of its set, in chunks of complete itemsets.

        Yields keys `itemset * frequent items + item`, and positions of the added items.
        """
        _, itemset, position = level
        later = self.later_items(level)
        first = np.flatnonzero(np.diff(itemset, prepend=-1))
        work = np.cumsum(later)[first] // ENTRIES_AT_ONCE
        cuts = first[np.diff(work, prepend=work[:1]) > 0].tolist()
        for low, high in pairwise([0, *cuts, len(position)]):
            chunk = slice(low, high)
            added = concat_ranges(position[chunk] + 1, later[chunk]).astype(np.int32)
            parent: Ints = itemset[chunk].astype(np.int64)
            key: Ints = np.repeat(parent * len(self._frequent), later[chunk]) + self._column[added]
            yield key, added

    def _keep_frequent(self, key: Ints, position: Int32s) -> tuple[Int32s, Int32s, Ints]:
        """Positions and itemset numbers of the entries with a frequent key, and these keys."""
        # Stable: the sets of each itemset stay in ascending order.
        order = np.argsort(key, kind="stable")
        key, position = key[order], position[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        if len(starts) == 0:
            return position, position, key
        counts = np.diff(starts, append=len(key))
        weights = self._weights[self._row_of[position]]
        is_frequent = np.add.reduceat(weights, starts) >= self._min_support
        itemset = np.repeat(np.arange(is_frequent.sum(), dtype=np.int32), counts[is_frequent])
        return position[np.repeat(is_frequent, counts)], itemset, key[starts[is_frequent]]


def sets_of_levels(levels: list[Int32s]) -> Sets:
    """The itemsets of all levels, given as their `Level.items`, as sets."""
    none = [np.empty(0, np.int64)]
    sizes = [np.full(len(items), items.shape[1]) for items in levels]
    return Sets.unchecked(
        items=np.concatenate([items.ravel() for items in levels] or none),
        offsets=offsets_of(np.concatenate(sizes or none)),
    )
