"""Lower bounds on the cost of every solution.

Paper:      none; the bounded problem is Definition 2 with users and withdrawals.
Guarantee:  `lower_bound` is at most the cost of every feasible solution.
Complexity: that of counting neighbours; up to PROGRAM_LIMIT records, plus a linear program.
Deviation:  none.

Lemma 0. A group has at least k records, so an item with 2 * support <= k is never contained in
more than half of a group: all its occurrences are deleted. Under deletions, this also holds for an
item with fewer than k owners. The cost of the remaining items is bounded by the larger of the
following bounds.

Nearest neighbours. Let G be a group of m records, c its center, C its cost. Over ordered pairs,
d(i,j) <= d(i,c) + d(j,c) sums to sum_i sum_{j in G-i} d(i,j) <= 2(m-1) C. The other members G-i
are records of k - 1 users other than that of i, and possibly more records of any user, including
that of i. Let A_i be the least mean of d(i,.) over all sets of other records of k - 1 other users;
then the inner sum is at least (m-1) A_i, whence C >= sum_i A_i / 2. A withdrawn record
costs |S_i|. So OPT >= sum_i min(|S_i|, A_i / 2).
A_i is computed greedily: the nearest record of each of the k - 1 nearest other users, then every
other record that is nearer than the mean so far. (For any value a, the sum of d - a is least for
the records nearer than a, completed to k - 1 users by the nearest; A_i is the a at which this sum
is 0.)

One direction only. Under deletions the center is a subset of S_i and of every other member S_j,
so i loses at least |S_i - S_j| for each of k - 1 other users: at least the (k-1)-th least of these.
Under additions i gains at least |S_j - S_i|, likewise. The larger of this sum and that of
the nearest neighbours is used. Under additions no record is withdrawn, and the nearest-neighbour
bound is sum_i A_i / 2.

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
"""Records up to which the configuration program is solved; takes about a second."""

CENTERS_LIMIT: Final = 3000
"""Centers up to which the configuration program is solved."""


def lower_bound(records: Records, params: Params) -> int:
    """Return a lower bound on the cost of every feasible solution for these records.

    >>> lower_bound(Records.from_sets([{1, 2}, {1, 2}, {1, 3}, {4}]), Params(k=2))
    3
    """
    if records.n_users < params.k:
        return len(records.items)
    always_deleted = never_majority(records, params)
    deleted = int(always_deleted[records.items].sum())
    remaining = records
    if deleted:
        remaining = Records.from_checked_sets(records.keep_items(~always_deleted), records.users)
    bound = nearest_bound(remaining, params)
    if len(remaining) <= PROGRAM_LIMIT:
        bound = max(bound, configuration_bound(remaining, params))
    return deleted + bound


def nearest_bound(records: Records, params: Params) -> int:
    """Bound the cost by the distances from each record to the nearest k - 1 other users."""
    if records.n_users < params.k:
        return len(records.items)
    total = 0
    for block in neighbours(records, "both", params.k - 1):
        costs = half_means(block, params.k - 1)
        if params.operations != "additions":
            costs = np.minimum(block.sizes * SCALE, costs)
        total += int(costs @ block.copies)
    if params.operations != "both":
        one_way = sum(
            SCALE * int(order_statistic(block.nearest, params.k - 1) @ block.copies)
            for block in neighbours(records, params.operations, params.k - 1)
        )
        total = max(total, one_way)
    return -(-total // SCALE)


def configuration_bound(records: Records, params: Params) -> int:
    """Bound the cost by the configuration program; 0 if there are too many centers."""
    if records.n_users < params.k:
        return len(records.items)
    centers = centers_of(records, params, CENTERS_LIMIT)
    if not centers.complete:
        return 0
    if len(centers.distances) == 0:
        return len(records.items)
    return configurations(centers, records, params).bound


def half_means(block: Neighbours, users: int) -> Ints:
    """A_i / 2 in multiples of 1 / SCALE, rounded down; see the module docstring."""
    n = len(block.sizes)
    nearer_users = np.cumsum(block.nearest, axis=1) - block.nearest
    taken = np.clip(users - nearer_users, 0, block.nearest)
    distances = np.arange(block.nearest.shape[1])
    sums, members = taken @ distances, np.full(n, users)
    if block.every is not None:
        others = np.maximum(block.every - taken, 0)
        for d in distances.tolist():
            below_mean = np.where(d * members < sums, others[:, d], 0)
            sums, members = sums + d * below_mean, members + below_mean
    halves: Ints = sums * SCALE // (2 * members)
    return halves


def order_statistic(counts: Ints, users: int) -> Ints:
    """Distance of the nearest user number `users`, from counts by distance."""
    distance: Ints = (np.cumsum(counts, axis=1) < users).sum(axis=1)
    return distance
