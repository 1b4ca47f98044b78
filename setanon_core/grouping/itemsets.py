"""Frequent itemsets: sets of items that at least a given number of records contain.

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
from setanon_core.grouping.itemset_levels import LevelMiner, sets_of_levels
from setanon_core.runtime.progress import report_progress

MAX_ITEMS: Final = 8
"""Size at which itemsets stop growing: larger ones are rare and have few supersets."""

BUDGET: Final = 1_000_000
PER_ITEM: Final = 10
"""Limit of the entries of one level: the larger of `BUDGET` and `PER_ITEM` times the item
occurrences. Beyond it the longest sets, which few records share, are not extended."""

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
        """Result of mining `mined_sets` with this higher threshold; requires `within_budget`.

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


def frequent_itemsets(sets: Sets, weights: Ints, min_support: int) -> Itemsets:
    """Mine level by level: all frequent itemsets of one item, of two items, and so on.

    `weights` is the number of records with each set. An itemset is frequent if the sets that
    contain it have a total weight of `min_support`.
    """
    budget = max(BUDGET, PER_ITEM * len(sets.items))
    miner = LevelMiner(sets, weights, min_support)
    level = miner.first_level()
    items, rows, sizes, supports = [], [], [], []
    complete = within_budget = True
    while len(level.items):
        report_progress("itemset sizes mined", level.size, MAX_ITEMS)
        items.append(level.items)
        rows.append(miner.rows(level))
        sizes.append(np.bincount(level.itemset, minlength=len(level.items)))
        supports.append(miner.support(level))
        later = miner.later_items(level)
        if level.size == MAX_ITEMS:
            complete = not later.any()
            break
        affordable = _affordable(later, rows[-1], len(sets), budget)
        within_budget &= bool(affordable.all())
        level = miner.extend(level, affordable)
    none = [np.empty(0, np.int64)]
    return Itemsets(
        sets_of_levels(items),
        np.concatenate(rows or [np.empty(0, np.int32)]),
        offsets_of(np.concatenate(sizes or none)),
        np.concatenate(supports or none),
        complete=complete and within_budget,
        within_budget=within_budget,
    )


def itemset_supports(
    sets: Sets, weights: Ints, min_support: int, max_items: int
) -> tuple[Sets, Ints]:
    """All frequent itemsets of at most `max_items` items, at least 2, and their support.

    Without a budget: the largest itemsets are counted without listing the sets that contain them.
    """
    miner = LevelMiner(sets, weights, min_support)
    level = miner.first_level()
    items, supports = [level.items], [miner.support(level)]
    for _ in range(2, max_items):
        level = miner.extend(level, np.ones(len(level.itemset), np.bool_))
        items.append(level.items)
        supports.append(miner.support(level))
    largest, support = miner.count_extensions(level)
    return sets_of_levels([*items, largest]), np.concatenate([*supports, support])


def _affordable(later: Int32s, rows: Int32s, n: int, budget: int) -> Bools:
    """Mark the entries of the sets that together stay within the budget, cheapest sets first."""
    if later.sum() <= budget:
        return np.ones(len(later), np.bool_)
    work = np.bincount(rows, later, minlength=n)
    order = np.argsort(work, kind="stable")
    affordable = np.zeros(n, np.bool_)
    affordable[order[np.cumsum(work[order]) <= budget]] = True
    return affordable[rows]
