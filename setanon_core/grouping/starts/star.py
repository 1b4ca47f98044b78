"""Star greedy: repeatedly open the center whose k nearest ungrouped users are nearest.

Paper:      none; a greedy for the k-group clustering problem of Definition 5.
Guarantee:  none; heuristic. Every group has k users.
Complexity: O(C * n * m) for C candidate centers, then one lazy heap; larger inputs in blocks.
Deviation:  a star that costs as much as withdrawing its records is not opened. A remaining record
            joins the nearest star if that is cheaper than withdrawing it. If only additions are
            allowed, no record may remain: see `halving`.
"""

import heapq
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.improve.neighbourhoods import neighbourhoods
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.grouping.matrices import Floats, dense
from setanon_core.grouping.starts.halving import halving
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Operations, Params

STAR_BLOCK: Final = 400
"""Records grouped together; larger inputs are split into blocks of similar records."""

MAX_CENTERS: Final = 4000
"""Candidate centers: all distinct records, then the itemsets with the greatest support * size."""

MAX_CELLS: Final = 20_000_000
"""Centers times items: if there are many items, fewer itemsets are candidates."""


def star(records: Records, params: Params) -> Grouping:
    """Group by stars; withdraw the records that no star can take at a saving."""
    if params.operations == "additions":
        return halving(records, params)
    labels = np.full(len(records), WITHDRAWN)
    next_label = 0
    for part in neighbourhoods(records, labels, params, STAR_BLOCK):
        groups = _group_block(records.subset(part), params)
        labels[part] = np.where(groups == WITHDRAWN, WITHDRAWN, groups + next_label)
        next_label += int(groups.max()) + 1
    return Grouping(labels)


def _group_block(records: Records, params: Params) -> Ints:
    """Run the greedy on one block."""
    matrix, centers = dense(records), _candidate_centers(records)
    distance = _distances(centers, matrix, params.operations)
    order = np.argsort(distance, axis=1, kind="stable")
    sizes = matrix.sum(1)
    labels = np.full(len(records), WITHDRAWN)
    heap = [(0.0, c) for c in range(len(centers))]
    while heap:
        old_mean, c = heapq.heappop(heap)
        ungrouped = order[c][labels[order[c]] == WITHDRAWN]
        members = _first_k_users(ungrouped, records.users, params.k)
        if len(members) == 0:
            continue
        mean = float(distance[c, members].mean())
        if mean >= float(sizes[members].mean()):
            continue  # not cheaper than withdrawing its records
        # Means only rise while records are grouped: a mean that is still valid is the least.
        if mean > old_mean:
            heapq.heappush(heap, (mean, c))
            continue
        labels[members] = c
        labels[(labels == WITHDRAWN) & (distance[c] == 0)] = c
    return _attach_remaining(labels, distance, sizes)


def _attach_remaining(labels: Ints, distance: Floats, sizes: Floats) -> Ints:
    """Add remaining records to the nearest star, if that is cheaper than withdrawing them."""
    opened = np.unique(labels[labels != WITHDRAWN])
    if len(opened) == 0:
        return labels
    nearest = distance[opened].argmin(0)
    joins = (labels == WITHDRAWN) & (distance[opened].min(0) < sizes)
    return np.where(joins, opened[nearest], labels)


def _candidate_centers(records: Records) -> Floats:
    """The distinct records, and the itemsets of two or more records, as rows of a 0/1 matrix."""
    items = np.unique(records.items)
    first, weights, _ = records.distinct
    distinct = records.take(first)
    itemsets = frequent_itemsets(distinct, weights, 2)
    value = itemsets.support * itemsets.sets.sizes
    limit = min(MAX_CENTERS, MAX_CELLS // max(len(items), 1))
    best = np.argsort(-value, kind="stable")[:limit]
    rows: Floats = np.vstack((dense(distinct, items), dense(itemsets.sets.take(best), items)))
    _, first = np.unique(rows, axis=0, return_index=True)
    centers: Floats = rows[np.sort(first)][: max(limit, len(distinct))]
    return centers


def _distances(centers: Floats, matrix: Floats, operations: Operations) -> Floats:
    """Cost of turning each record into each center; infinite if the operations do not allow it."""
    common = centers @ matrix.T
    distance: Floats = centers.sum(1)[:, None] + matrix.sum(1) - 2 * common
    if operations == "deletions":
        distance[common < centers.sum(1)[:, None]] = np.inf
    return distance


def _first_k_users(ordered: Ints, users: Ints, k: int) -> Ints:
    """The first record of each of the first k users; empty if there are fewer users."""
    _, first = np.unique(users[ordered], return_index=True)
    return ordered[np.sort(first)[:k]] if len(first) >= k else ordered[:0]
