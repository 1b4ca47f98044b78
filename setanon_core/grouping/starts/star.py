"""Star greedy: open the center whose k nearest free users are nearest, again and again.

Paper:      none; a greedy for the k-group clustering problem of Definition 5.
Guarantee:  none; heuristic. Every group has k users.
Complexity: O(C * n * m) for C candidate centers, then one lazy heap; larger inputs in blocks.
Deviation:  a star that costs as much as withdrawing its records is not opened; a record left
            over joins the nearest star where that is cheaper than withdrawing it. Where only
            additions are allowed, no record can be left over: see `halving`.
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
"""Records that one greedy looks at; more are taken in blocks of neighbours."""

CANDIDATES: Final = 4000
"""Centers that one greedy looks at: all records, then the itemsets that most records hold."""

CELLS: Final = 20_000_000
"""Centers times items: where records are very long, fewer itemsets are looked at."""


def star(records: Records, params: Params) -> Grouping:
    """Group by stars; a record that no star wants is withdrawn."""
    if params.operations == "additions":
        return halving(records, params)
    labels = np.full(len(records), WITHDRAWN)
    spare = 0
    for part in neighbourhoods(records, labels, params, STAR_BLOCK):
        found = _stars(records.subset(part), params)
        labels[part] = np.where(found == WITHDRAWN, WITHDRAWN, found + spare)
        spare += int(found.max()) + 1
    return Grouping(labels)


def _stars(records: Records, params: Params) -> Ints:
    """The greedy itself, on one block."""
    matrix, centers = dense(records), _candidates(records)
    distance = _distances(centers, matrix, params.operations)
    order = np.argsort(distance, axis=1, kind="stable")
    sizes = matrix.sum(1)
    labels = np.full(len(records), WITHDRAWN)
    heap = [(0.0, c) for c in range(len(centers))]
    while heap:
        price, c = heapq.heappop(heap)
        members = _nearest(order[c][labels[order[c]] == WITHDRAWN], records.users, params.k)
        if len(members) == 0:
            continue
        now = float(distance[c, members].mean())
        if now >= float(sizes[members].mean()):
            continue  # no cheaper than withdrawing its records
        # Prices only rise as records are taken: the first that still holds is the least.
        if now > price:
            heapq.heappush(heap, (now, c))
            continue
        labels[members] = c
        labels[(labels == WITHDRAWN) & (distance[c] == 0)] = c
    return _attach(labels, distance, sizes)


def _attach(labels: Ints, distance: Floats, sizes: Floats) -> Ints:
    """Let a record that was left over join the nearest star, if that beats withdrawing it."""
    opened = np.unique(labels[labels != WITHDRAWN])
    if len(opened) == 0:
        return labels
    nearest = distance[opened].argmin(0)
    joins = (labels == WITHDRAWN) & (distance[opened].min(0) < sizes)
    return np.where(joins, opened[nearest], labels)


def _candidates(records: Records) -> Floats:
    """The distinct records, then the itemsets that two of them hold, the largest total first."""
    names = np.unique(records.items)
    first, weights, _ = records.distinct
    distinct = records.take(first)
    found = frequent_itemsets(distinct, weights, 2)
    value = found.support * found.sets.sizes
    limit = min(CANDIDATES, CELLS // max(len(names), 1))
    best = np.argsort(-value, kind="stable")[:limit]
    rows: Floats = np.vstack((dense(distinct, names), dense(found.sets.take(best), names)))
    _, first = np.unique(rows, axis=0, return_index=True)
    centers: Floats = rows[np.sort(first)][: max(limit, len(distinct))]
    return centers


def _distances(centers: Floats, matrix: Floats, operations: Operations) -> Floats:
    """Cost of turning each record into each center; infinite where the operations forbid it."""
    common = centers @ matrix.T
    distance: Floats = centers.sum(1)[:, None] + matrix.sum(1) - 2 * common
    if operations == "deletions":
        distance[common < centers.sum(1)[:, None]] = np.inf
    return distance


def _nearest(free: Ints, users: Ints, k: int) -> Ints:
    """The first record of each of the first k users; nothing if there are fewer."""
    _, first = np.unique(users[free], return_index=True)
    return free[np.sort(first)[:k]] if len(first) >= k else free[:0]
