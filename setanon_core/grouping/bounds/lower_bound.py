"""Lower bounds on the cost of every solution.

Paper:      none; the bounded problem is Definition 2 with users and withdrawals.
Guarantee:  `lower_bound` is at most the cost of every feasible solution.
Complexity: that of counting neighbours; up to PROGRAM_LIMIT records, plus a linear program.
Deviation:  none.

Lemma 0. A group has at least k records, so an item with 2 * support <= k is never contained in
more than half of a group: all its occurrences are deleted. Under deletions, this also holds for an
item with fewer than k owners. The cost of the remaining items is bounded by the larger of the
following bounds.

Nearest neighbours. For 0 <= a <= 1 let d_a(i,j) = (1-a) |S_i - S_j| + a |S_j - S_i|, so that
d_a(i,j) + d_a(j,i) = d(i,j), the Hamming distance. Let G be a group of m records, c its center, C
its cost. Over unordered pairs, d(i,j) <= d(i,c) + d(j,c) sums to at most (m-1) C, since every
record is in m - 1 pairs; hence sum_i sum_{j in G-i} d_a(i,j) <= (m-1) C. The other members G-i
are records of k - 1 users other than that of i, and possibly more records of any user, including
that of i. Let A_i be the least mean of d_a(i,.) over all sets of other records of k - 1 other
users; then the inner sum is at least (m-1) A_i, whence C >= sum_i A_i. A withdrawn record costs
|S_i|. So OPT >= sum_i min(|S_i|, A_i), for every a. The proof uses neither that c is a majority nor
how many records a user has, so it holds for all `operations`; under additions no record is
withdrawn, and the bound is sum_i A_i. Of several a, the greatest bound is used: a < 1/2 charges
more to the record with the larger set, which small sets near to many others would hide.
A_i is computed greedily: the nearest record of each of the k - 1 nearest other users, then every
other record that is nearer than the mean so far. (For any value v, the sum of d_a - v is least for
the records nearer than v, completed to k - 1 users by the nearest; A_i is the v at which this sum
is 0.) Distances are integers, multiples of 1 / (own + other) of `Metric`; means are rounded down to
multiples of 1 / SCALE.

One direction only. Under deletions the center is a subset of S_i and of every other member S_j,
so i loses at least |S_i - S_j| for each of k - 1 other users: at least the (k-1)-th least of these.
This is at least A_i for a = 0, which is not computed. Under additions i gains at least |S_j - S_i|,
likewise.

Configurations. See `configurations`: used only if the enumeration of centers was complete.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.bounds.metric import GAINED, HAMMING, LOST, MOSTLY_LOST, Metric
from setanon_core.grouping.bounds.nearest import Neighbours, neighbours
from setanon_core.grouping.starts.configurations import SCALE, configurations
from setanon_core.grouping.starts.cooccurrence import centers_of
from setanon_core.grouping.strip import never_majority
from setanon_core.params import Operations, Params

ONE_WAY: Final[Mapping[Operations, Metric]] = {"deletions": LOST, "additions": GAINED}

METRICS: Final[Mapping[Operations, tuple[Metric, ...]]] = {
    "both": (LOST, MOSTLY_LOST, HAMMING),
    "deletions": (LOST, MOSTLY_LOST, HAMMING),
    "additions": (GAINED, LOST, MOSTLY_LOST, HAMMING),
}
"""The metrics of which the greatest bound is used: one way, or a = 0, 1/4 and 1/2."""

SAMPLE_FROM: Final = 100_000
"""Records up to which the bounds of all metrics are computed; each takes as long as the grouping
of a large log."""

SAMPLE_STEP: Final = 16
"""Every item with a number divisible by this, or more, is in the sample."""

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
    metrics = promising_metrics(records, params)
    totals = [_sum_of_terms(records, params, metric) for metric in metrics]
    return -(-max(totals) // SCALE)


def promising_metrics(records: Records, params: Params) -> tuple[Metric, ...]:
    """All metrics; for more than `SAMPLE_FROM` records, that with the greatest bound of a sample.

    The sample is all records with one of some items, so that their nearest neighbours are in it.
    """
    metrics = METRICS[params.operations]
    if len(records) <= SAMPLE_FROM:
        return metrics
    step = max(SAMPLE_STEP, len(records) // SAMPLE_FROM)
    occurrences = np.flatnonzero(records.items % step == 0)
    positions = np.unique(np.searchsorted(records.offsets, occurrences, side="right") - 1)
    sample = records.subset(positions)
    if sample.n_users < params.k:
        return metrics
    return (max(metrics, key=lambda metric: _sum_of_terms(sample, params, metric)),)


def _sum_of_terms(records: Records, params: Params, metric: Metric) -> int:
    blocks = neighbours(records, metric, params.k - 1)
    return sum(int(terms(block, params, metric) @ block.copies) for block in blocks)


def terms(block: Neighbours, params: Params, metric: Metric) -> Ints:
    """The least cost of each record in multiples of 1 / SCALE; see the module docstring."""
    if ONE_WAY.get(params.operations) == metric:
        return SCALE * order_statistic(block.nearest, params.k - 1)
    means = least_means(block, params.k - 1, metric)
    return means if params.operations == "additions" else np.minimum(block.sizes * SCALE, means)


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


def least_means(block: Neighbours, users: int, metric: Metric) -> Ints:
    """A_i in multiples of 1 / SCALE, rounded down; see the module docstring."""
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
    means: Ints = sums * SCALE // (metric.unit * members)
    return means


def order_statistic(counts: Ints, users: int) -> Ints:
    """Distance of the nearest user number `users`, from counts by distance."""
    distance: Ints = (np.cumsum(counts, axis=1) < users).sum(axis=1)
    return distance
