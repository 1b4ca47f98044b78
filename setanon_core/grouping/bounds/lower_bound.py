"""Lower bounds: what no solution can undercut.

Paper:      none; Definition 2 with users and withdrawals is the problem that is bounded.
Guarantee:  `lower_bound` is at most the cost of every feasible solution.
Complexity: that of counting neighbours; up to PROGRAM_LIMIT records, a linear program besides.
Deviation:  none.

Lemma 0. A group has at least k records, so an item with 2 * support <= k is never held by more
than half of a group: it is deleted wherever it occurs. Under deletions, so is an item with fewer
than k owners. What remains is bounded by the larger of the following.

Nearest neighbours. Let G be a group of m records, c its center, C its cost. Over ordered pairs,
d(i,j) <= d(i,c) + d(j,c) sums to sum_i sum_{j in G-i} d(i,j) <= 2(m-1) C. The mates G-i hold
records of k - 1 users other than that of i, and possibly more records of any user, that of i
included. Let A_i be the least mean of d(i,.) over all sets of other records that hold k - 1 other
users; then the inner sum is at least (m-1) A_i, whence C >= sum_i A_i / 2. A withdrawn record
costs |S_i|. So OPT >= sum_i min(|S_i|, A_i / 2).
A_i is found greedily: the nearest record of each of the k - 1 nearest other users, then every
other record that is nearer than the mean so far. (For any value a, the sum of d - a is least for
the records nearer than a, filled up to k - 1 users with the nearest; A_i is the a at which that
sum is 0.)

One direction only. Under deletions the center is a subset of S_i and of every mate S_j, so i
loses at least |S_i - S_j| for each of k - 1 other users: at least the (k-1)-th least of these.
Under additions i gains at least |S_j - S_i|, likewise. The sum over all records may exceed that of
the nearest neighbours, or not: the larger counts. Under additions no record is withdrawn, and the
nearest neighbours bound sum_i A_i / 2.

Configurations. See `configurations`: used only if the enumeration of centers was complete.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.bounds.nearest import Neighbours, neighbours
from setanon_core.grouping.starts.configurations import SCALE, configurations
from setanon_core.grouping.starts.cooccurrence import centers_of
from setanon_core.grouping.strip import never_majority
from setanon_core.params import Params

PROGRAM_LIMIT: Final = 150
"""Records up to which the configuration program is solved: about a second."""

CENTERS_LIMIT: Final = 3000
"""Centers up to which it is solved."""


def lower_bound(records: Records, params: Params) -> int:
    """Return a cost that no feasible solution for these records undercuts.

    >>> lower_bound(Records.from_sets([{1, 2}, {1, 2}, {1, 3}, {4}]), Params(k=2))
    3
    """
    if records.n_users < params.k:
        return len(records.items)
    doomed = never_majority(records, params)
    stripped = int(doomed[records.items].sum())
    rest = records
    if stripped:
        rest = Records.from_checked_sets(records.keep_items(~doomed), records.users)
    bound = nearest_bound(rest, params)
    if len(rest) <= PROGRAM_LIMIT:
        bound = max(bound, configuration_bound(rest, params))
    return stripped + bound


def nearest_bound(records: Records, params: Params) -> int:
    """Bound the cost by what each record must pay to meet the nearest k - 1 other users."""
    if records.n_users < params.k:
        return len(records.items)
    total = 0
    for around in neighbours(records, "both", params.k - 1):
        shares = _half_means(around, params.k - 1)
        if params.operations != "additions":
            shares = np.minimum(around.sizes * SCALE, shares)
        total += int(shares @ around.copies)
    if params.operations != "both":
        one_way = sum(
            SCALE * int(_order_statistic(around.nearest, params.k - 1) @ around.copies)
            for around in neighbours(records, params.operations, params.k - 1)
        )
        total = max(total, one_way)
    return -(-total // SCALE)


def configuration_bound(records: Records, params: Params) -> int:
    """Bound the cost by the configuration program; 0 if there are too many centers for it."""
    if records.n_users < params.k:
        return len(records.items)
    centers = centers_of(records, params, CENTERS_LIMIT)
    if not centers.complete:
        return 0
    if len(centers.distances) == 0:
        return len(records.items)
    return configurations(centers, records, params).bound


def _half_means(around: Neighbours, users: int) -> Ints:
    """A_i / 2 in multiples of 1 / SCALE, rounded down: see the head of this module."""
    n = len(around.sizes)
    before = np.cumsum(around.nearest, axis=1) - around.nearest
    taken = np.clip(users - before, 0, around.nearest)
    distances = np.arange(around.nearest.shape[1])
    sums, members = taken @ distances, np.full(n, users)
    if around.every is not None:
        others = np.maximum(around.every - taken, 0)
        for d in distances.tolist():
            nearer = np.where(d * members < sums, others[:, d], 0)
            sums, members = sums + d * nearer, members + nearer
    halves: Ints = sums * SCALE // (2 * members)
    return halves


def _order_statistic(counts: Ints, users: int) -> Ints:
    """Find how far the user is who comes as number `users` from near to far."""
    farther: Ints = (np.cumsum(counts, axis=1) < users).sum(axis=1)
    return farther
