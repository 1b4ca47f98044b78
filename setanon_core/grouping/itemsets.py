"""Frequent itemsets: the sets of items that at least k records hold, with those records.

Paper:      section 4 leaves the centers open; Park and Shim mine them so for larger inputs.
Guarantee:  all of them up to `MAX_ITEMS` items, unless `complete` says that the budget ended.
Complexity: O(entries * log entries) a level, entries = pairs (itemset, distinct set above it).
Deviation:  records are counted here, users where a group is formed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Int32s, Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets
from setanon_core.grouping.matrices import Bools
from setanon_core.runtime.progress import report_progress

MAX_ITEMS: Final = 8
"""Itemsets stop growing here: deeper ones are rare, and few records hold them."""

BUDGET: Final = 1_000_000
PER_ITEM: Final = 10
"""Pairs (itemset, set above it) in one level: this many, or this many times the occurrences.
Beyond it the longest sets stop growing, which few others would have shared."""


ENTRIES_AT_ONCE: Final = 1 << 18
"""Pairs that are counted in one go: a bound for memory."""


HOLDERS_AT_ONCE: Final = 1 << 21
"""Holders of itemsets that are looked at in one go."""


@dataclass(frozen=True, slots=True, eq=False)
class Itemsets:
    """Candidate centers, and in `holders` the sets that hold each."""

    sets: Sets
    holders: Int32s
    bounds: Ints
    """The holders of candidate c are `holders[bounds[c]:bounds[c + 1]]`, ascending."""

    support: Ints
    complete: bool

    def parts(self) -> Iterator[tuple[Ints, slice]]:
        """All holders, some after the others: the itemset of each, and where they are."""
        numbers = np.diff(self.bounds)
        cuts = np.flatnonzero(np.diff(self.bounds[:-1] // HOLDERS_AT_ONCE)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(self.sets)]):
            itemset = np.repeat(np.arange(low, high), numbers[low:high])
            yield itemset, slice(self.bounds[low], self.bounds[high])

    def without_one(self, chosen: Ints) -> Ints:
        """For each itemset chosen, where those are that lack one item of it; filled up with -1."""
        sizes, sets = self.sets.sizes[chosen], self.sets
        width = max(sets.width, 1)
        subsets = np.full((len(chosen), int(sizes.max(initial=0))), -1)
        # An itemset is found by the place of all but its last item, and that item.
        starts = np.searchsorted(sets.sizes, np.arange(MAX_ITEMS + 2))
        lone = np.full(width, -1)
        lone[sets.items[: starts[2]]] = np.arange(starts[2])
        keys: dict[int, Ints] = {}

        def place(items: Ints) -> Ints:
            """Where itemsets of equal size are, given as rows."""
            at: Ints = lone[items[:, 0]]
            for size in range(2, items.shape[1] + 1):
                at = starts[size] + np.searchsorted(keys[size], at * width + items[:, size - 1])
            return at

        for size in range(2, int(sizes.max(initial=0)) + 1):
            rows = np.flatnonzero(sizes == size)
            items = sets.items[sets.offsets[:-1][chosen[rows]][:, None] + np.arange(size)]
            for left_out in range(size):
                subsets[rows, left_out] = place(np.delete(items, left_out, axis=1))
            level = slice(starts[size], starts[size + 1])
            every = sets.items[sets.offsets[:-1][level][:, None] + np.arange(size)]
            keys[size] = place(every[:, :-1]) * width + every[:, -1]
        return subsets


def frequent_itemsets(sets: Sets, weights: Ints, k: int) -> Itemsets:
    """Mine level by level; an entry is an itemset, a set above it, and where its last item is.

    `weights` says how many records each set stands for.
    """
    budget = max(BUDGET, PER_ITEM * len(sets.items))
    total = np.bincount(sets.items, weights[sets.rows], minlength=sets.width)
    frequent = np.flatnonzero(total >= k)
    # There may be very many entries: half as wide, they take half as much memory.
    number = np.zeros(sets.width, np.int32)
    number[frequent] = np.arange(len(frequent))
    kept = sets.keep_items(total >= k)
    column = number[kept.items]
    place = np.argsort(column, kind="stable").astype(np.int32)
    itemset, level = column[place], frequent[:, None].astype(np.int32)
    row_of = kept.rows.astype(np.int32)
    levels, held, sizes, supports, complete = [], [], [], [], True
    while len(level):
        report_progress("items of the centers looked for", level.shape[1], MAX_ITEMS)
        levels.append(level)
        held.append(row_of[place])
        sizes.append(np.bincount(itemset, minlength=len(level)))
        supports.append(np.bincount(itemset, weights[held[-1]], minlength=len(level)))
        left = kept.offsets[1:].astype(np.int32)[held[-1]] - place - 1
        if level.shape[1] == MAX_ITEMS:
            complete &= not left.any()
            break
        short = _affordable(left, held[-1], len(sets), budget)
        complete &= bool(short.all())
        place, itemset, left = place[short], itemset[short], left[short]
        # Add to every entry each later item of its set; keep what k records hold.
        found = [
            _heavy(key, wider, weights[row_of[wider]], k)
            for key, wider in _wider(place, itemset, left, column, len(frequent))
        ]
        before = np.cumsum([0, *(len(grown) for _, _, grown in found)])
        place = np.concatenate([part for part, _, _ in found])
        itemset = np.concatenate(
            [part + np.int32(n) for (_, part, _), n in zip(found, before, strict=False)]
        )
        grown = np.concatenate([part for _, _, part in found])
        parent, last = np.divmod(grown, len(frequent))
        level = np.column_stack((level[parent], frequent[last].astype(np.int32)))
    none = [np.empty(0, np.int64)]
    widths = [np.full(len(part), part.shape[1]) for part in levels]
    return Itemsets(
        Sets.unchecked(
            items=np.concatenate([part.ravel() for part in levels] or none),
            offsets=offsets_of(np.concatenate(widths or none)),
        ),
        np.concatenate(held or [np.empty(0, np.int32)]),
        offsets_of(np.concatenate(sizes or none)),
        np.concatenate(supports or none).astype(np.int64),
        complete,
    )


def _affordable(left: Int32s, held: Int32s, n: int, budget: int) -> Bools:
    """Mark the entries of the sets that together stay within the budget, cheapest sets first."""
    if left.sum() <= budget:
        return np.ones(len(left), np.bool_)
    work = np.bincount(held, left, minlength=n)
    order = np.argsort(work, kind="stable")
    fits = np.zeros(n, np.bool_)
    fits[order[np.cumsum(work[order]) <= budget]] = True
    return fits[held]


def _wider(
    place: Int32s, itemset: Int32s, left: Int32s, column: Int32s, width: int
) -> Iterator[tuple[Ints, Int32s]]:
    """Itemsets with one item more, as keys, and where that item is; some itemsets at a time.

    Entries stand in the order of their itemsets, and so do those that are made of them.
    """
    first = np.flatnonzero(np.diff(itemset, prepend=-1))
    work = np.cumsum(left)[first] // ENTRIES_AT_ONCE
    cuts = first[np.diff(work, prepend=work[:1]) > 0].tolist()
    for low, high in pairwise([0, *cuts, len(place)]):
        part = slice(low, high)
        wider = concat_ranges(place[part] + 1, left[part]).astype(np.int32)
        parent: Ints = itemset[part].astype(np.int64)
        key: Ints = np.repeat(parent * width, left[part]) + column[wider]
        yield key, wider


def _heavy(key: Ints, place: Int32s, weight: Ints, k: int) -> tuple[Int32s, Int32s, Ints]:
    """Group entries by key, and keep the keys whose weights reach k."""
    # Stable: holders stay in ascending order within each new itemset.
    order = np.argsort(key, kind="stable")
    key, place = key[order], place[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if len(starts) == 0:
        return place, place, key
    counts = np.diff(starts, append=len(key))
    enough = np.add.reduceat(weight[order], starts) >= k
    itemset = np.repeat(np.arange(enough.sum(), dtype=np.int32), counts[enough])
    return place[np.repeat(enough, counts)], itemset, key[starts[enough]]
