"""The wishes of each record: the frequent itemsets that it would share with a group, best first.

A record's first wish is its deepest frequent itemset, that of the fewest holders if there are
several: `open_itemsets` opens centers in this order. Its home is the rarest item of this itemset.

Paper:      none; these clusters take the place of section 5.2's Min-Hash keys.
Guarantee:  none; heuristic. Wishes depend on the record and the itemset counts alone.
Complexity: O(entries * log entries) per level; entries as in `itemset_counts`.
Deviation:  two records that share an itemset of several items have the same home more often than
            with one Min-Hash, and always if it is the first wish of both.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, earlier_occurrences
from setanon_core.columns.sets import Sets
from setanon_core.partition.itemset_counts import (
    Counts,
    Entries,
    FrequentItemsets,
    add_counts,
    held_itemsets,
)

NO_ITEM: Final = -1

CHOICES: Final = 4
"""Homes per record: the first, and those that it may visit."""


class Wishes(NamedTuple):
    """For each record its homes, best first, and the itemset of its first wish."""

    homes: npt.NDArray[np.int32]
    """Rarest items of its itemsets, without repetition: `CHOICES` columns, padded with -1."""

    sizes: npt.NDArray[np.int8]
    """Size of the largest itemset of each home: what the record can save there."""

    level: Ints
    """Level of its first wish, from 0; -1 without a frequent item."""

    itemset: Ints
    """Number of its first wish in this level."""


def find_wishes(sets: Sets, frequent: FrequentItemsets) -> Wishes:
    """Find the wishes of each set, from the largest itemsets to single items.

    Of each size, the `CHOICES` itemsets of the fewest holders are considered.
    """
    n = len(sets)
    # Narrow types: these are the largest columns of the plan.
    homes, sizes = np.full((n, CHOICES), NO_ITEM, np.int32), np.zeros((n, CHOICES), np.int8)
    filled, level, itemset = np.zeros(n, np.int64), np.full(n, -1), np.full(n, -1)
    held = list(enumerate(held_itemsets(sets, frequent)))
    for number, entries in reversed(held):
        ordered = _fewest_holders_first(entries, frequent.levels[number].counts)
        home = frequent.rarest_items[number][ordered.itemset]
        nth = earlier_occurrences(ordered.row)
        for column in range(CHOICES):
            chosen = np.flatnonzero(nth == column)
            row = ordered.row[chosen]
            if column == 0:
                first = level[row] < 0
                level[row[first]] = number
                itemset[row[first]] = ordered.itemset[chosen[first]]
            is_new = (filled[row] < CHOICES) & (homes[row] != home[chosen, None]).all(axis=1)
            row, item = row[is_new], home[chosen[is_new]]
            homes[row, filled[row]], sizes[row, filled[row]] = item, number + 1
            filled[row] += 1
    return Wishes(homes, sizes, level, itemset)


def _fewest_holders_first(entries: Entries, support: Ints) -> Entries:
    """Entries of each record by the support of the itemset, then by its number."""
    key = entries.row * (int(support.max()) + 1) + support[entries.itemset]
    order = np.argsort(key, kind="stable")
    return Entries(*(column[order] for column in entries))


def neighbour_counts(wishes: Wishes, frequent: FrequentItemsets) -> Counts:
    """Count how often two items occur together in first wishes; counts of parts add up.

    Keys are `item * width + other item`, the other item being more frequent.
    """
    parts = []
    for level in range(1, len(frequent.levels)):
        chosen, counts = np.unique(wishes.itemset[wishes.level == level], return_counts=True)
        items = frequent.items_of(level, chosen)
        rank = frequent.item_rank[items]
        for first in range(level + 1):
            for second in range(level + 1):
                rarer = rank[:, first] < rank[:, second]
                key = items[rarer, first] * frequent.width + items[rarer, second]
                parts.append(Counts(key, counts[rarer]))
    return add_counts(parts)
