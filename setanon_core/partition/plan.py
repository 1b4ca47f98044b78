"""The plan: which items, and so which records, belong to which place.

Each item has a parent: the more frequent item that occurs most often beside it in first wishes.
The trees are written as one line, depth first, so that items that occur together stand together;
the line is cut into places of equal weight.

Paper:      none; the places take the role of section 5.2's clusters.
Guarantee:  every item has a place; an item heavier than two has several consecutive ones, among
            which its records are distributed by hash. No place weighs more than three times the
            mean, as far as the hashes are even.
Complexity: O(m log m) for m items, and one step per level of the trees.
Deviation:  not in the paper.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, Keys, run_starts
from setanon_core.partition.itemset_counts import Counts, FrequentItemsets
from setanon_core.partition.wishes import NO_ITEM

PLACE: Final = 1_250_000
"""Records per place: one place takes about 0.4 GB of memory."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The places of each item: `count` consecutive ones from `first`."""

    places: int
    first: Ints
    count: Ints

    def place_of(self, items: npt.NDArray[np.integer], keys: Keys) -> Ints:
        """The place of each record, given an item and a hash of its content.

        The hash decides among the places of a heavy item, and for records without an item.
        """
        known = items != NO_ITEM
        count = np.where(known, self.count[items], self.places).astype(np.uint64)
        first: Ints = np.where(known, self.first[items], 0)
        return first + (keys % count).astype(np.int64)


def count_places(records: int) -> int:
    """Number of places for this many records."""
    return -(-records // PLACE)


def make_plan(frequent: FrequentItemsets, neighbours: Counts, weights: Ints, places: int) -> Plan:
    """Cut the line of items into places; `weights` counts the records with each first home."""
    line = depth_first(find_parents(frequent, neighbours))
    first, count = cut(weights[line], places)
    plan = Plan(places, np.empty_like(first), np.empty_like(count))
    plan.first[line], plan.count[line] = first, count
    return plan


def find_parents(frequent: FrequentItemsets, neighbours: Counts) -> Ints:
    """For each item the more frequent item most often beside it; of several, the rarest; or -1."""
    item, other = np.divmod(neighbours.keys, frequent.width)
    order = np.lexsort((frequent.item_rank[other], -neighbours.counts, item))
    chosen = order[run_starts(item[order])]
    parents = np.full(frequent.width, NO_ITEM)
    parents[item[chosen]] = other[chosen]
    return parents


def depth_first(parents: Ints) -> Ints:
    """The items in depth-first order: each one is followed by its descendants.

    >>> depth_first(np.array([2, -1, -1, 0])).tolist()
    [1, 2, 0, 3]
    """
    n = len(parents)
    depth = _depths(parents)
    size = np.ones(n, np.int64)
    for level in range(int(depth.max(initial=0)), 0, -1):
        items = np.flatnonzero(depth == level)
        np.add.at(size, parents[items], size[items])
    position = np.empty(n, np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        items = np.flatnonzero(depth == level)
        items = items[np.argsort(parents[items], kind="stable")]
        before = np.cumsum(size[items]) - size[items]
        starts = run_starts(parents[items])
        family = np.cumsum(starts) - 1
        start = 0 if level == 0 else position[parents[items]] + 1
        position[items] = start + before - before[starts][family]
    line = np.empty(n, np.int64)
    line[position] = np.arange(n)
    return line


def _depths(parents: Ints) -> Ints:
    """Number of ancestors of each item; pointer jumping: path lengths halve each round."""
    n = len(parents)
    ancestor = np.append(np.where(parents == NO_ITEM, n, parents), n)
    depth = np.append((parents != NO_ITEM).astype(np.int64), 0)
    while (ancestor != n).any():
        depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
    return depth[:n]


def cut(weights: Ints, places: int) -> tuple[Ints, Ints]:
    """First place and number of places of each item of a line with these weights.

    An item belongs to the place in which its middle lies. An item that weighs more than the mean of
    a place has as many places as its weight fills, rounded down: a part of it weighs less than two.

    >>> first, count = cut(np.array([1, 1, 4, 2]), 4)
    >>> first.tolist(), count.tolist()
    ([0, 0, 1, 3], [1, 1, 2, 1])
    """
    total = max(int(weights.sum()), 1)
    before = np.cumsum(weights) - weights
    count = np.maximum(weights * places // total, 1)
    # Places are numbered from the middle of the item, so that its places lie around it.
    first = ((2 * before + weights) * places - (count - 1) * total) // (2 * total)
    return np.clip(first, 0, places - count), count
