"""Frequent itemsets: sets of items that records of a given total weight contain.

Paper:      section 4 does not fix the candidate centers; Park and Shim mine itemsets for large
            inputs.
Guarantee:  all frequent itemsets of at most `MAX_ITEMS` items, if `within_budget`; if `complete`,
            all frequent itemsets.
Complexity: O(entries * log entries) per level; entries = pairs (itemset, set that contains it).
Deviation:  support counts records; users are counted where a group is formed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Int32s, Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets
from setanon_core.runtime.progress import report_progress

MAX_ITEMS: Final = 8
"""Size at which itemsets stop growing: larger ones are rare and have few supersets."""

BUDGET: Final = 1_000_000
PER_ITEM: Final = 10
"""Limit of the entries of one level: the larger of `BUDGET` and `PER_ITEM` times the item
occurrences. Beyond it the longest sets stop contributing, which few others share."""

ENTRIES_AT_ONCE: Final = 1 << 18
"""Entries that are counted together: bounds memory."""

SUPERSETS_AT_ONCE: Final = 1 << 21
"""Entries of `Itemsets.supersets` that `chunks` yields together."""


@dataclass(frozen=True, slots=True, eq=False)
class Itemsets:
    """Frequent itemsets ordered by size, then by items, and the sets that contain each."""

    sets: Sets
    supersets: Int32s
    superset_offsets: Ints
    """`supersets[superset_offsets[c]:superset_offsets[c + 1]]` contain itemset c; ascending."""

    support: Ints
    """Total weight of the supersets of each itemset."""

    complete: bool
    """Whether no frequent itemset can be missing."""

    within_budget: bool
    """Whether no frequent itemset of at most `MAX_ITEMS` items can be missing."""

    def chunks(self) -> Iterator[tuple[Ints, slice]]:
        """Iterate over slices of `supersets`, with the itemset number of each entry."""
        numbers = np.diff(self.superset_offsets)
        cuts = np.flatnonzero(np.diff(self.superset_offsets[:-1] // SUPERSETS_AT_ONCE)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(self.sets)]):
            itemset = np.repeat(np.arange(low, high), numbers[low:high])
            yield itemset, slice(self.superset_offsets[low], self.superset_offsets[high])

    def subsets_without_one_item(self, chosen: Ints) -> Ints:
        """For each chosen itemset, the numbers of its subsets of one item less, padded with -1."""
        sizes, sets = self.sets.sizes[chosen], self.sets
        width = max(sets.width, 1)
        subsets = np.full((len(chosen), int(sizes.max(initial=0))), -1)
        # An itemset is identified by its prefix (all items except the last) and its last item.
        starts = np.searchsorted(sets.sizes, np.arange(MAX_ITEMS + 2))
        single = np.full(width, -1)
        single[sets.items[: starts[2]]] = np.arange(starts[2])
        keys: dict[int, Ints] = {}

        def number_of(items: Ints) -> Ints:
            """Numbers of itemsets of one size, given as rows."""
            number: Ints = single[items[:, 0]]
            for size in range(2, items.shape[1] + 1):
                key = number * width + items[:, size - 1]
                number = starts[size] + np.searchsorted(keys[size], key)
            return number

        for size in range(2, int(sizes.max(initial=0)) + 1):
            rows = np.flatnonzero(sizes == size)
            items = sets.items[sets.offsets[:-1][chosen[rows]][:, None] + np.arange(size)]
            for omitted in range(size):
                subsets[rows, omitted] = number_of(np.delete(items, omitted, axis=1))
            level = slice(starts[size], starts[size + 1])
            all_items = sets.items[sets.offsets[:-1][level][:, None] + np.arange(size)]
            keys[size] = number_of(all_items[:, :-1]) * width + all_items[:, -1]
        return subsets

    def with_min_support(self, mined_sets: Sets, min_support: int) -> "Itemsets":
        """What mining `mined_sets` with this higher threshold returns; needs `within_budget`.

        Prefixes of a frequent itemset are frequent, so both runs list the itemsets in one order.
        The run with the higher threshold has fewer entries, so it is within the budget too.
        """
        keep = self.support >= min_support
        chosen = np.flatnonzero(keep)
        sizes = np.diff(self.superset_offsets)
        kept_entries = np.repeat(keep, sizes)
        return Itemsets(
            self.sets.take(chosen),
            self.supersets[kept_entries],
            offsets_of(sizes[chosen]),
            self.support[chosen],
            complete=not self._can_grow(mined_sets, chosen),
            within_budget=True,
        )

    def _can_grow(self, mined_sets: Sets, chosen: Ints) -> bool:
        """Whether a superset of a chosen itemset of `MAX_ITEMS` items has a later frequent item.

        `chosen` are all itemsets of some minimum support: the single items among them are the
        frequent items.
        """
        longest = chosen[self.sets.sizes[chosen] == MAX_ITEMS]
        if len(longest) == 0:
            return False
        single = chosen[self.sets.sizes[chosen] == 1]
        frequent = np.zeros(mined_sets.width, np.bool_)
        frequent[self.sets.items[self.sets.offsets[single]]] = True
        kept = mined_sets.keep_items(frequent)
        last_item = np.full(len(kept), -1)
        nonempty = kept.sizes > 0
        last_item[nonempty] = kept.items[kept.offsets[1:][nonempty] - 1]
        sizes = np.diff(self.superset_offsets)[longest]
        entries = concat_ranges(self.superset_offsets[longest], sizes)
        ends = np.repeat(self.sets.items[self.sets.offsets[longest + 1] - 1], sizes)
        return bool((last_item[self.supersets[entries]] > ends).any())


def frequent_itemsets(
    sets: Sets,
    weights: Ints,
    min_support: int,
    *,
    max_items: int | None = None,
    budget: int | None = None,
) -> Itemsets:
    """Mine level by level: all itemsets of one item, of two items, and so on.

    Args:
        sets: the sets to mine.
        weights: number of records with each set.
        min_support: least total weight of the sets that contain an itemset.
        max_items: size at which itemsets stop growing; default `MAX_ITEMS`.
        budget: limit of the entries of one level; default see `BUDGET`.
    """
    max_items = MAX_ITEMS if max_items is None else max_items
    budget = max(BUDGET, PER_ITEM * len(sets.items)) if budget is None else budget
    total = np.bincount(sets.items, weights[sets.rows], minlength=sets.width)
    frequent = np.flatnonzero(total >= min_support)
    number = np.zeros(sets.width, np.int32)
    number[frequent] = np.arange(len(frequent))
    kept = sets.keep_items(total >= min_support)
    column = number[kept.items]
    # An entry is an itemset, a set that contains it, and the position of its last item there.
    # Entries are int32, because there may be very many.
    position = np.argsort(column, kind="stable").astype(np.int32)
    itemset, level = column[position], frequent[:, None].astype(np.int32)
    row_of = kept.rows.astype(np.int32)
    levels, rows, sizes, supports = [], [], [], []
    complete = within_budget = True
    while len(level):
        report_progress("itemset sizes mined", level.shape[1], max_items)
        levels.append(level)
        rows.append(row_of[position])
        sizes.append(np.bincount(itemset, minlength=len(level)))
        supports.append(np.bincount(itemset, weights[rows[-1]], minlength=len(level)))
        later = kept.offsets[1:].astype(np.int32)[rows[-1]] - position - 1
        if level.shape[1] == max_items:
            complete &= not later.any()
            break
        affordable = _affordable(later, rows[-1], len(sets), budget)
        within_budget &= bool(affordable.all())
        position, itemset, later = position[affordable], itemset[affordable], later[affordable]
        # Extend every entry by each later item of its set; keep the frequent extensions.
        extensions = [
            _keep_frequent(key, extended, weights[row_of[extended]], min_support)
            for key, extended in _extend(position, itemset, later, column, len(frequent))
        ]
        earlier = np.cumsum([0, *(len(keys) for _, _, keys in extensions)])
        position = np.concatenate([part for part, _, _ in extensions])
        itemset = np.concatenate(
            [part + np.int32(n) for (_, part, _), n in zip(extensions, earlier, strict=False)]
        )
        parent, last = np.divmod(np.concatenate([keys for _, _, keys in extensions]), len(frequent))
        level = np.column_stack((level[parent], frequent[last].astype(np.int32)))
    none = [np.empty(0, np.int64)]
    widths = [np.full(len(part), part.shape[1]) for part in levels]
    return Itemsets(
        Sets.unchecked(
            items=np.concatenate([part.ravel() for part in levels] or none),
            offsets=offsets_of(np.concatenate(widths or none)),
        ),
        np.concatenate(rows or [np.empty(0, np.int32)]),
        offsets_of(np.concatenate(sizes or none)),
        np.concatenate(supports or none).astype(np.int64),
        complete=complete and within_budget,
        within_budget=within_budget,
    )


def _affordable(later: Int32s, rows: Int32s, n: int, budget: int) -> Bools:
    """Mark the entries of the sets that together stay within the budget, cheapest sets first."""
    if later.sum() <= budget:
        return np.ones(len(later), np.bool_)
    work = np.bincount(rows, later, minlength=n)
    order = np.argsort(work, kind="stable")
    affordable = np.zeros(n, np.bool_)
    affordable[order[np.cumsum(work[order]) <= budget]] = True
    return affordable[rows]


def _extend(
    position: Int32s, itemset: Int32s, later: Int32s, column: Int32s, width: int
) -> Iterator[tuple[Ints, Int32s]]:
    """Yield keys of itemsets with one more item, and the position of that item, in chunks.

    Entries are ordered by itemset, and so are their extensions.
    """
    first = np.flatnonzero(np.diff(itemset, prepend=-1))
    work = np.cumsum(later)[first] // ENTRIES_AT_ONCE
    cuts = first[np.diff(work, prepend=work[:1]) > 0].tolist()
    for low, high in pairwise([0, *cuts, len(position)]):
        chunk = slice(low, high)
        extended = concat_ranges(position[chunk] + 1, later[chunk]).astype(np.int32)
        parent: Ints = itemset[chunk].astype(np.int64)
        key: Ints = np.repeat(parent * width, later[chunk]) + column[extended]
        yield key, extended


def _keep_frequent(
    key: Ints, position: Int32s, weight: Ints, min_support: int
) -> tuple[Int32s, Int32s, Ints]:
    """Group entries by key: positions and itemset numbers of the frequent keys, and the keys."""
    # Stable: supersets stay in ascending order within each itemset.
    order = np.argsort(key, kind="stable")
    key, position = key[order], position[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if len(starts) == 0:
        return position, position, key
    counts = np.diff(starts, append=len(key))
    is_frequent = np.add.reduceat(weight[order], starts) >= min_support
    itemset = np.repeat(np.arange(is_frequent.sum(), dtype=np.int32), counts[is_frequent])
    return position[np.repeat(is_frequent, counts)], itemset, key[starts[is_frequent]]
