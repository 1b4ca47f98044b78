"""What occurs together: the items that the center of an optimal group can hold.

Paper:      section 4, Algorithm 1: the center of a group is its majority.
Guarantee:  when `complete`, some optimal solution uses no other center.
Complexity: O(n) for each center tested, and their number can be exponential: hence a limit.
Deviation:  none; the paper leaves the exact problem alone.

Two items that are both held by more than half of a group meet in one of its records, so a
majority center is a clique of the co-occurrence graph of items with 2 * support > k. We test
more: each item of the center c saves |{i: e in S_i}| - |{i: e not in S_i}| > 0 against its
deletion, so the same group saves something with every subset of c. A set with which no group
of k users saves anything is therefore in no majority center: no larger set need be looked at.

Under deletions only, the center of a group may be taken as the intersection of *all* records
that contain it, a closed set; additions are the same problem on the complements.
"""

from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.params import Params

FAR: Final = 1 << 24
"""The distance of a record from a center that its operations cannot reach."""

HELD_CELLS: Final = 200_000_000
"""Items times records up to which anything is enumerated: a byte for each."""

TESTS_FACTOR: Final = 20
"""How many sets may be tested for each center that is wanted, before we give up."""

BLOCK_CELLS: Final = 2_000_000
"""Centers times records looked at together; 16 MB for each temporary array."""


class Centers(NamedTuple):
    """d(S_i, c) for every center c (row) and record i (column)."""

    distances: Ints
    complete: bool


def centers_of(records: Records, params: Params, limit: int) -> Centers:
    """Enumerate the possible centers, up to `limit`; under additions, large ones come first."""
    names, columns = np.unique(records.items, return_inverse=True)
    if len(names) * len(records) > HELD_CELLS:
        return Centers(np.empty((0, len(records)), np.int64), complete=False)
    held = np.zeros((len(names), len(records)), np.bool_)
    held[columns, records.rows] = True
    if params.operations == "both":
        return _majorities(held, records.users, params.k, limit)
    if params.operations == "deletions":
        return _closed(held, records.users, params.k, limit, empty=False)
    return _closed(~held, records.users, params.k, limit, empty=True)


def cheapest_groups(costs: Ints, users: Ints, k: int) -> Ints:
    """For each row, the least sum of costs over records of at least k users.

    A user takes part with all records of negative cost, or else with the cheapest one; all users
    that gain take part, and the cheapest others until there are k. No group can do better.
    """
    shares = np.sort(_shares(costs, users)[0], axis=1)
    gains: Ints = np.minimum(shares, 0).sum(axis=1)
    fill: Ints = np.maximum(shares[:, :k], 0).sum(axis=1)
    return gains + fill


def members_of_cheapest(costs: Ints, users: Ints, k: int) -> Bools:
    """Mark the groups that attain `cheapest_groups`, one row for each."""
    shares, order, starts = _shares(costs, users)
    ranks = np.argsort(np.argsort(shares, axis=1, kind="stable"), axis=1)
    takes_part = (shares < 0) | (ranks < k)
    lengths = np.diff(np.append(starts, len(users)))
    mine = np.repeat(takes_part, lengths, axis=1)
    sorted_costs = costs[:, order]
    least = np.repeat(np.minimum.reduceat(sorted_costs, starts, axis=1), lengths, axis=1)
    # Of equally cheap records of a user without gains only the first takes part.
    at_least = sorted_costs == least
    before = np.cumsum(at_least, axis=1) - at_least
    first = at_least & (before == np.repeat(before[:, starts], lengths, axis=1))
    members = np.empty(costs.shape, np.bool_)
    members[:, order] = mine & ((sorted_costs < 0) | (first & (least >= 0)))
    return members


def _shares(costs: Ints, users: Ints) -> tuple[Ints, Ints, Ints]:
    """Return what each user adds at best, the records by user, and where each user starts."""
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    if len(starts) == len(users):
        return costs[:, order], order, starts
    ordered = costs[:, order]
    least = np.minimum.reduceat(ordered, starts, axis=1)
    gains = np.add.reduceat(np.minimum(ordered, 0), starts, axis=1)
    return np.where(least < 0, gains, least), order, starts


def _majorities(held: Bools, users: Ints, k: int, limit: int) -> Centers:
    """Grow sets item by item, as long as some group would save with them."""
    sizes = held.sum(axis=0)
    support = held.sum(axis=1)
    frequent = np.flatnonzero(2 * support > k)
    complete = len(frequent) <= limit
    frequent = np.sort(frequent[np.argsort(-support[frequent], kind="stable")[:limit]])
    ones = held[frequent].astype(np.int64)
    meet = (held[frequent].astype(np.float32) @ held[frequent].T.astype(np.float32)) > 0
    # `sets` holds this level in lexicographic order, `hits` |S_i & c| for each of them.
    sets = np.arange(len(frequent))[:, None]
    hits = ones
    found: list[Ints] = []
    n_found, tested = 0, 0
    while len(sets):
        tested += len(sets)
        saves = _saves(hits, sets.shape[1], users, k)
        sets, hits = sets[saves], hits[saves]
        found.append(sizes + sets.shape[1] - 2 * hits)
        n_found += len(sets)
        left, right = _siblings(sets)
        if n_found > limit or tested + len(left) > TESTS_FACTOR * limit:
            complete = complete and n_found <= limit and len(left) == 0
            break
        last = sets[:, -1]
        cliques = meet[last[left], last[right]]
        left, right = left[cliques], right[cliques]
        sets = np.column_stack((sets[left], last[right]))
        hits = hits[left] + ones[last[right]]
    distances = np.concatenate(found) if found else np.empty((0, len(users)), np.int64)
    return Centers(distances[:limit], complete)


def _saves(hits: Ints, size: int, users: Ints, k: int) -> Bools:
    """Whether some group of k users is cheaper with this center than withdrawn."""
    saves = np.zeros(len(hits), np.bool_)
    step = max(1, BLOCK_CELLS // max(1, hits.shape[1]))
    for low in range(0, len(hits), step):
        saves[low : low + step] = cheapest_groups(size - 2 * hits[low : low + step], users, k) < 0
    return saves


def _siblings(sets: Ints) -> tuple[Ints, Ints]:
    """All pairs of rows, first before second, that agree but for the last item."""
    if len(sets) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    new = np.ones(len(sets), np.bool_)
    new[1:] = (sets[1:, :-1] != sets[:-1, :-1]).any(axis=1)
    starts = np.append(np.flatnonzero(new), len(sets))
    ends = starts[np.cumsum(new)]
    later = ends - np.arange(len(sets)) - 1
    left = np.repeat(np.arange(len(sets)), later)
    nth = np.arange(len(left)) - np.repeat(np.cumsum(later) - later, later)
    return left, left + 1 + nth


def _closed(held: Bools, users: Ints, k: int, limit: int, *, empty: bool) -> Centers:
    """Find all sets of records, of k users, that are everything that contains some set."""
    sizes = held.sum(axis=0)
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    root = np.ones(len(users), np.bool_)
    seen = {np.packbits(root).tobytes()}
    queue = [root]
    rows: list[Ints] = []
    for extent in queue:
        # Whatever is in the queue becomes a center, but for the first if nothing is common to all.
        if len(rows) >= limit or len(queue) > limit + 1:
            return Centers(_stacked(rows, len(users)), complete=False)
        inside = held & extent
        common = inside.sum(axis=1) == extent.sum()
        size = int(common.sum())
        if size or empty:
            rows.append(np.where(extent, sizes - size, FAR))
        smaller = inside[~common]
        n_users = np.logical_or.reduceat(smaller[:, order], starts, axis=1).sum(axis=1)
        smaller = smaller[n_users >= k]
        for narrower, packed in zip(smaller, np.packbits(smaller, axis=1), strict=True):
            key = packed.tobytes()
            if key not in seen:
                seen.add(key)
                queue.append(narrower)
    return Centers(_stacked(rows, len(users)), complete=True)


def _stacked(rows: list[Ints], n: int) -> Ints:
    return np.stack(rows) if rows else np.empty((0, n), np.int64)
