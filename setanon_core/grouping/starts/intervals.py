"""Cover many records with intervals [L, H]: groups of records between two sets.

Paper:      section 4, Corollary 1; Park and Shim's practical variant, which enumerates frequent
            itemsets instead of groups. A group costs |H - L| stars per record, for any records
            between L and H.
Guarantee:  none; heuristic: only intervals spanned by near sets are candidates.
Complexity: O(n^2) for the distances of n <= BLOCK distinct sets, then O(n q (q + k)) for
            q = NEIGHBOURS + 2k; linear in the number of records with one set.
Deviation:  candidates are limited: L is the intersection of two neighbours (closed under its
            group), H the union of the smallest neighbours that contain L and have k..2k-1 users.
            More than BLOCK distinct sets are first split into blocks of similar sets.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from heapq import heapify, heappop, heappush, nsmallest
from itertools import chain, pairwise
from operator import and_
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.matrices import sparse
from setanon_core.grouping.starts.cover import Partition

BLOCK: Final = 3_000
"""Distinct sets per block: the size of the largest clusters of the paper's log."""

NEIGHBOURS: Final = 16
"""Neighbours of each set, in addition to 2k: twice as many lowered costs by 1% at most."""

INTERVALS_PER_SET: Final = 8
"""Candidate intervals around each set, cheapest first."""

Interval = tuple[int, tuple[int, ...]]
"""|H - L|, and the numbers of the distinct sets between L and H."""


def interval_cover(records: Records, ranks: Ints, k: int) -> list[list[int]]:
    """Group all records of at least k users; `ranks` are the numbers of their distinct sets."""
    order = np.argsort(ranks, kind="stable")
    cuts = np.flatnonzero(np.diff(ranks[order])) + 1
    records_of = [part.tolist() for part in np.split(order, cuts)]
    groups: list[list[int]] = []
    for block in _blocks(records, records_of, k):
        groups.extend(_cover(records, block, k))
    return groups


def _blocks(records: Records, records_of: list[list[int]], k: int) -> list[list[list[int]]]:
    """Split distinct sets into blocks of similar sets, sorted by their most frequent items.

    `records_of` are the records of each distinct set.
    """
    if len(records_of) <= BLOCK:
        return [records_of]
    first = records.take(np.array([members[0] for members in records_of]))
    frequency = np.bincount(first.items, minlength=first.width)
    rank = np.argsort(np.argsort(-frequency, kind="stable"))[first.items].tolist()
    bounds = first.offsets.tolist()
    keys = [sorted(rank[low:high]) for low, high in pairwise(bounds)]
    order = sorted(range(len(records_of)), key=keys.__getitem__)
    count = -(-len(order) // BLOCK)
    blocks: list[list[list[int]]] = []
    pending: list[list[int]] = []
    for part in np.array_split(np.array(order), count):
        pending = pending + [records_of[position] for position in part]
        # A block of fewer than k users is merged with the next one.
        if len(np.unique(records.users[list(chain.from_iterable(pending))])) >= k:
            blocks.append(pending)
            pending = []
    return [*blocks[:-1], blocks[-1] + pending] if blocks else [pending]


def _cover(records: Records, records_of: list[list[int]], k: int) -> list[list[int]]:
    """Choose the interval with the fewest stars per new record, until all records are covered."""
    user_of = records.users.tolist()
    # 2k users per set are enough: at most k are ever needed.
    users = [frozenset(_first_users(user_of, members, 2 * k)) for members in records_of]
    intervals = _candidate_intervals(records, records_of, users, k)
    uncovered = [True] * len(records_of)
    partition = Partition(user_of, k)

    def price(interval: Interval) -> float:
        """Stars per newly covered record, including the records that complete k users."""
        new = [s for s in interval[1] if uncovered[s]]
        if not new:
            return np.inf
        n_new = sum(len(records_of[s]) for s in new)
        missing = max(0, k - len(frozenset().union(*(users[s] for s in new))))
        return interval[0] * (n_new + missing) / n_new

    heap = [(price(interval), number) for number, interval in enumerate(intervals)]
    heapify(heap)
    n_uncovered = len(records_of)
    while n_uncovered:
        old_price, number = heappop(heap)
        # Prices only rise: a price that is still valid is the least.
        new_price = price(intervals[number])
        if new_price > old_price:
            heappush(heap, (new_price, number))
            continue
        sets = intervals[number][1]
        new = [s for s in sets if uncovered[s]]
        chosen = [record for s in new for record in records_of[s]]
        covered = [records_of[s] for s in sets if not uncovered[s]]
        partition.add(_complete(chosen, covered, partition, user_of, k))
        for s in new:
            uncovered[s] = False
        n_uncovered -= len(new)
    return partition.groups()


def _complete(
    chosen: list[int],
    covered: list[list[int]],
    partition: Partition,
    user_of: Sequence[int],
    k: int,
) -> list[int]:
    """Add covered records up to k users, preferably records that their groups can spare."""
    users = {user_of[record] for record in chosen}
    for only_spare in (True, False):
        for record in chain.from_iterable(covered):
            if len(users) >= k:
                return chosen
            if user_of[record] not in users and (not only_spare or partition.can_spare(record)):
                users.add(user_of[record])
                chosen.append(record)
    return chosen


def _first_users(user_of: Sequence[int], members: list[int], limit: int) -> set[int]:
    users: set[int] = set()
    for record in members:
        users.add(user_of[record])
        if len(users) == limit:
            break
    return users


def _candidate_intervals(
    records: Records, records_of: list[list[int]], users: list[frozenset[int]], k: int
) -> list[Interval]:
    """The cheapest intervals around each distinct set, at least one that contains it."""
    first = records.take(np.array([members[0] for members in records_of]))
    # Items are numbered without gaps, so that the bitmasks are short.
    sets = Sets(np.unique(first.items, return_inverse=True)[1], first.offsets)
    masks = sets.bitmasks()
    intervals: dict[Interval, None] = {}
    for near in _neighbours(sets, users, k):
        stars: dict[Interval, float] = {}
        lows = dict.fromkeys(masks[near[0]] & masks[s] for s in near)
        # The intersection of all neighbours is below each, so that some interval has k users.
        lows[reduce(and_, (masks[s] for s in near))] = None
        for low in lows:
            stars.update(_intervals_above(low, near, masks, users, k))
        cheapest = nsmallest(INTERVALS_PER_SET, stars, key=stars.__getitem__)
        intervals.update(dict.fromkeys(cheapest))
    return list(intervals)


def _intervals_above(
    low: int, near: list[int], masks: list[int], users: list[frozenset[int]], k: int
) -> Iterator[tuple[Interval, float]]:
    """Intervals above `low` that contain near[0] and k..2k-1 users, and their stars per record."""
    above = [s for s in near if low & ~masks[s] == 0]
    above[1:] = sorted(above[1:], key=lambda s: masks[s].bit_count())
    union, common = masks[near[0]], masks[near[0]]
    inside_users: frozenset[int] = frozenset()
    for s in above:
        union, common = union | masks[s], common & masks[s]
        inside_users = inside_users | users[s]
        if len(inside_users) >= k:
            inside = (
                other
                for other in above
                if masks[other] & ~union == 0 and common & ~masks[other] == 0
            )
            stars = (union ^ common).bit_count()
            yield (stars, tuple(sorted(inside))), stars
        if len(inside_users) >= 2 * k - 1:
            return


def _neighbours(sets: Sets, users: list[frozenset[int]], k: int) -> Iterator[list[int]]:
    """Yield for each distinct set the set itself and its nearest sets, nearest first."""
    n, sizes = len(sets), sets.sizes
    matrix = sparse(sets)
    transposed = matrix.T.tocsr()
    count = min(n, NEIGHBOURS + 2 * k)
    for start in range(0, n, 256):
        common = (matrix[start : start + 256] @ transposed).toarray()
        distances = sizes[start : start + 256, None] + sizes - 2 * common
        # One key for distance and number: on ties the lower number is first.
        keys = distances * n + np.arange(n)
        nearest = np.sort(np.partition(keys, count - 1, axis=1)[:, :count], axis=1) % n
        for row, near in enumerate(nearest.tolist()):
            near_users = set[int]().union(*(users[s] for s in near))
            if len(near_users) < k:
                # Few users own all of these sets: add the nearest sets of other users.
                for s in (np.sort(keys[row]) % n).tolist():
                    if users[s] - near_users:
                        near.append(s)
                        near_users |= users[s]
                    if len(near_users) >= k:
                        break
            yield near
