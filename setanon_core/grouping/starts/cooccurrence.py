"""Enumerate the possible centers of an optimal group, from items that occur together.

Paper:      section 4, Algorithm 1: the center of a group is its majority.
Guarantee:  if `complete`, some optimal solution uses only these centers.
Complexity: O(n) for each tested set; their number can be exponential, so it is limited.
Deviation:  none; the paper does not solve the problem exactly.

Two items that are each contained in more than half of a group occur together in one of its
records, so a majority center is a clique of the co-occurrence graph of items with 2 * support > k.
A stronger test: each item e of the center c saves |{i: e in S_i}| - |{i: e not in S_i}| > 0
against its deletion, so the same group has a saving with every subset of c. A set with which no
group of k users has a saving is therefore a subset of no majority center: its supersets need not
be tested.

If only deletions are allowed, the center of a group may be assumed to be the intersection of *all*
records that contain it, a closed set. Additions are the same problem on the complements.
"""

from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.params import Params

FAR: Final = 1 << 24
"""Distance of a record to a center that the operations do not allow."""

MAX_CELLS: Final = 200_000_000
"""Items times records up to which centers are enumerated; one byte each."""

TESTS_FACTOR: Final = 20
"""Limit of the tested sets, in multiples of the limit of the centers."""

BLOCK_CELLS: Final = 2_000_000
"""Centers times records processed together; 16 MB per temporary array."""


class Centers(NamedTuple):
    """d(S_i, c) for every center c (row) and record i (column)."""

    distances: Ints
    complete: bool


def centers_of(records: Records, params: Params, limit: int) -> Centers:
    """Enumerate at most `limit` possible centers; under additions, large ones first."""
    items, columns = np.unique(records.items, return_inverse=True)
    if len(items) * len(records) > MAX_CELLS:
        return Centers(np.empty((0, len(records)), np.int64), complete=False)
    contains = np.zeros((len(items), len(records)), np.bool_)
    contains[columns, records.rows] = True
    if params.operations == "both":
        return _majorities(contains, records.users, params.k, limit)
    if params.operations == "deletions":
        return _closed(contains, records.users, params.k, limit, empty=False)
    return _closed(~contains, records.users, params.k, limit, empty=True)


def cheapest_groups(costs: Ints, users: Ints, k: int) -> Ints:
    """For each row, the least sum of costs over records of at least k users.

    A user contributes all records of negative cost, or else the cheapest record. All users with a
    negative sum are included, then the cheapest others up to k users. No group costs less.
    """
    user_costs = np.sort(_user_costs(costs, users)[0], axis=1)
    negative: Ints = np.minimum(user_costs, 0).sum(axis=1)
    positive: Ints = np.maximum(user_costs[:, :k], 0).sum(axis=1)
    return negative + positive


def members_of_cheapest(costs: Ints, users: Ints, k: int) -> Bools:
    """Members of the groups that attain `cheapest_groups`, one row per group."""
    user_costs, order, starts = _user_costs(costs, users)
    ranks = np.argsort(np.argsort(user_costs, axis=1, kind="stable"), axis=1)
    is_included = (user_costs < 0) | (ranks < k)
    lengths = np.diff(np.append(starts, len(users)))
    user_included = np.repeat(is_included, lengths, axis=1)
    sorted_costs = costs[:, order]
    least = np.repeat(np.minimum.reduceat(sorted_costs, starts, axis=1), lengths, axis=1)
    # Of equally cheap records of a user without negative costs, only the first is included.
    is_least = sorted_costs == least
    earlier = np.cumsum(is_least, axis=1) - is_least
    first = is_least & (earlier == np.repeat(earlier[:, starts], lengths, axis=1))
    members = np.empty(costs.shape, np.bool_)
    members[:, order] = user_included & ((sorted_costs < 0) | (first & (least >= 0)))
    return members


def _user_costs(costs: Ints, users: Ints) -> tuple[Ints, Ints, Ints]:
    """The least cost that each user contributes, the records by user, and each user's start."""
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    if len(starts) == len(users):
        return costs[:, order], order, starts
    ordered = costs[:, order]
    least = np.minimum.reduceat(ordered, starts, axis=1)
    negative = np.add.reduceat(np.minimum(ordered, 0), starts, axis=1)
    return np.where(least < 0, negative, least), order, starts


def _majorities(contains: Bools, users: Ints, k: int, limit: int) -> Centers:
    """Extend sets item by item, while some group has a saving with them."""
    sizes = contains.sum(axis=0)
    support = contains.sum(axis=1)
    frequent = np.flatnonzero(2 * support > k)
    complete = len(frequent) <= limit
    frequent = np.sort(frequent[np.argsort(-support[frequent], kind="stable")[:limit]])
    ones = contains[frequent].astype(np.int64)
    as_floats = contains[frequent].astype(np.float32)
    occur_together = (as_floats @ as_floats.T) > 0
    # `sets` are those of one size in lexicographic order, `shared` is |S_i & c| for each.
    sets = np.arange(len(frequent))[:, None]
    shared = ones
    distances: list[Ints] = []
    n_centers, n_tested = 0, 0
    while len(sets):
        n_tested += len(sets)
        saves = _has_saving(shared, sets.shape[1], users, k)
        sets, shared = sets[saves], shared[saves]
        distances.append(sizes + sets.shape[1] - 2 * shared)
        n_centers += len(sets)
        left, right = _sibling_pairs(sets)
        if n_centers > limit or n_tested + len(left) > TESTS_FACTOR * limit:
            complete = complete and n_centers <= limit and len(left) == 0
            break
        last = sets[:, -1]
        is_clique = occur_together[last[left], last[right]]
        left, right = left[is_clique], right[is_clique]
        sets = np.column_stack((sets[left], last[right]))
        shared = shared[left] + ones[last[right]]
    no_distances = np.empty((0, len(users)), np.int64)
    return Centers(np.concatenate([no_distances, *distances])[:limit], complete)


def _has_saving(shared: Ints, size: int, users: Ints, k: int) -> Bools:
    """Whether some group of k users costs less with this center than withdrawn."""
    saves = np.zeros(len(shared), np.bool_)
    step = max(1, BLOCK_CELLS // max(1, shared.shape[1]))
    for low in range(0, len(shared), step):
        block = slice(low, low + step)
        saves[block] = cheapest_groups(size - 2 * shared[block], users, k) < 0
    return saves


def _sibling_pairs(sets: Ints) -> tuple[Ints, Ints]:
    """All pairs of rows, first before second, that differ only in the last item."""
    if len(sets) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    is_start = np.ones(len(sets), np.bool_)
    is_start[1:] = (sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)
    starts = np.append(np.flatnonzero(is_start), len(sets))
    ends = starts[np.cumsum(is_start)]
    later = ends - np.arange(len(sets)) - 1
    left = np.repeat(np.arange(len(sets)), later)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(later) - later, later)
    return left, left + 1 + offset


def _closed(contains: Bools, users: Ints, k: int, limit: int, *, empty: bool) -> Centers:
    """Enumerate the closed sets with k users, from large extents to small.

    The extent of a set are all records that contain it. `empty` allows the empty center.
    """
    sizes = contains.sum(axis=0)
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    root = np.ones(len(users), np.bool_)
    seen = {np.packbits(root).tobytes()}
    queue = [root]
    rows: list[Ints] = []
    for extent in queue:
        # Every extent in the queue becomes a center, except the first if it has no common item.
        if len(rows) >= limit or len(queue) > limit + 1:
            return Centers(_stack(rows, len(users)), complete=False)
        inside = contains & extent
        common = inside.sum(axis=1) == extent.sum()
        size = int(common.sum())
        if size or empty:
            rows.append(np.where(extent, sizes - size, FAR))
        extents = inside[~common]
        n_users = np.logical_or.reduceat(extents[:, order], starts, axis=1).sum(axis=1)
        extents = extents[n_users >= k]
        for smaller, packed in zip(extents, np.packbits(extents, axis=1), strict=True):
            key = packed.tobytes()
            if key not in seen:
                seen.add(key)
                queue.append(smaller)
    return Centers(_stack(rows, len(users)), complete=True)


def _stack(rows: list[Ints], n: int) -> Ints:
    return np.stack(rows) if rows else np.empty((0, n), np.int64)
