"""Cover many records with groups that are intervals [L, H]: all records between two sets.

Paper:      section 4, Corollary 1; Park and Shim's practical variant, which enumerates frequent
            itemsets instead of groups. A group costs |H - L| stars for each record, whichever
            records between L and H it holds.
Guarantee:  none; heuristic: only intervals spanned by near records are candidates.
Complexity: O(n^2) for the distances of n <= BLOCK distinct sets, then O(n q (q + k)) for
            q = NEAR + 2k neighbours; linear in the number of records that share a set.
Deviation:  candidates are capped: L is the intersection of two neighbours (closed under its
            group), H the union of the smallest neighbours that contain L and have k..2k-1 users.
            More than BLOCK distinct sets are cut into blocks of similar sets first.
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
"""Distinct sets whose distances are computed at once: the largest clusters of the paper's log."""

NEAR: Final = 16
"""Neighbours of a set that are looked at, beside 2k: twice as many lowered costs by 1% at most."""

SPANS: Final = 8
"""Intervals that are kept for each set, cheapest first."""

Span = tuple[int, tuple[int, ...]]
"""|H - L|, and the distinct sets found between L and H."""


def interval_cover(records: Records, ranks: Ints, k: int) -> list[list[int]]:
    """Group all records; `ranks` number the distinct sets, and there are at least k users."""
    order = np.argsort(ranks, kind="stable")
    shared = [part.tolist() for part in np.split(order, np.flatnonzero(np.diff(ranks[order])) + 1)]
    groups: list[list[int]] = []
    for block in _blocks(records, shared, k):
        groups.extend(_cover(records, block, k))
    return groups


def _blocks(records: Records, shared: list[list[int]], k: int) -> list[list[list[int]]]:
    """Cut distinct sets into blocks of similar sets: in order of their most frequent items."""
    if len(shared) <= BLOCK:
        return [shared]
    first = records.take(np.array([members[0] for members in shared]))
    frequency = np.bincount(first.items, minlength=first.width)
    rank = np.argsort(np.argsort(-frequency, kind="stable"))[first.items].tolist()
    bounds = first.offsets.tolist()
    keys = [sorted(rank[low:high]) for low, high in pairwise(bounds)]
    order = sorted(range(len(shared)), key=keys.__getitem__)
    count = -(-len(order) // BLOCK)
    blocks: list[list[list[int]]] = []
    poor: list[list[int]] = []
    for part in np.array_split(np.array(order), count):
        poor = poor + [shared[position] for position in part]
        # A block whose records belong to too few users cannot be grouped alone.
        if len(np.unique(records.users[list(chain.from_iterable(poor))])) >= k:
            blocks.append(poor)
            poor = []
    return [*blocks[:-1], blocks[-1] + poor] if blocks else [poor]


def _cover(records: Records, shared: list[list[int]], k: int) -> list[list[int]]:
    """Take the interval of least stars per new record, until every record is in a group."""
    owners = records.users.tolist()
    # 2k users of a set tell as much as all: nobody asks for more than k.
    users = [frozenset(_some_users(owners, members, 2 * k)) for members in shared]
    spans = _spans(records, shared, users, k)
    uncovered = [True] * len(shared)
    partition = Partition(owners, k)

    def price(span: Span) -> float:
        new = [place for place in span[1] if uncovered[place]]
        if not new:
            return np.inf
        gained = sum(len(shared[place]) for place in new)
        missing = max(0, k - len(frozenset().union(*(users[place] for place in new))))
        return span[0] * (gained + missing) / gained

    heap = [(price(span), number) for number, span in enumerate(spans)]
    heapify(heap)
    left = len(shared)
    while left:
        old, number = heappop(heap)
        # Prices only rise, so a price that still holds is the least of all.
        now = price(spans[number])
        if now > old:
            heappush(heap, (now, number))
            continue
        places = spans[number][1]
        new = [place for place in places if uncovered[place]]
        chosen = [record for place in new for record in shared[place]]
        covered = [shared[place] for place in places if not uncovered[place]]
        partition.add(_filled(chosen, covered, partition, owners, k))
        for place in new:
            uncovered[place] = False
        left -= len(new)
    return partition.groups()


def _filled(
    chosen: list[int], covered: list[list[int]], partition: Partition, owners: Sequence[int], k: int
) -> list[int]:
    """Fill up a group to k users, with records that their groups can spare if there are any."""
    seen = {owners[record] for record in chosen}
    for only_spare in (True, False):
        for record in chain.from_iterable(covered):
            if len(seen) >= k:
                return chosen
            if owners[record] not in seen and (not only_spare or partition.can_spare(record)):
                seen.add(owners[record])
                chosen.append(record)
    return chosen


def _some_users(owners: Sequence[int], members: list[int], limit: int) -> set[int]:
    users: set[int] = set()
    for record in members:
        users.add(owners[record])
        if len(users) == limit:
            break
    return users


def _spans(
    records: Records, shared: list[list[int]], users: list[frozenset[int]], k: int
) -> list[Span]:
    """The cheapest intervals around each distinct set, and at least one that holds it."""
    first = records.take(np.array([members[0] for members in shared]))
    # Items numbered without gaps, so that the masks are short.
    sets = Sets(np.unique(first.items, return_inverse=True)[1], first.offsets)
    masks = sets.bitmasks()
    found: dict[Span, None] = {}
    for near in _neighbours(sets, users, k):
        own: dict[Span, float] = {}
        lows = dict.fromkeys(masks[near[0]] & masks[place] for place in near)
        # What all of them hold is below them all, so one interval has k users whoever they are.
        lows[reduce(and_, (masks[place] for place in near))] = None
        for low in lows:
            own.update(_spans_above(low, near, masks, users, k))
        found.update(dict.fromkeys(nsmallest(SPANS, own, key=own.__getitem__)))
    return list(found)


def _spans_above(
    low: int, near: list[int], masks: list[int], users: list[frozenset[int]], k: int
) -> Iterator[tuple[Span, float]]:
    """Intervals from `low` up that hold near[0] and k..2k-1 users, and their stars per user."""
    above = [place for place in near if low & ~masks[place] == 0]
    above[1:] = sorted(above[1:], key=lambda place: masks[place].bit_count())
    union, common = masks[near[0]], masks[near[0]]
    held: frozenset[int] = frozenset()
    for place in above:
        union, common, held = union | masks[place], common & masks[place], held | users[place]
        if len(held) >= k:
            inside = (
                other
                for other in above
                if masks[other] & ~union == 0 and common & ~masks[other] == 0
            )
            stars = (union ^ common).bit_count()
            yield (stars, tuple(sorted(inside))), stars
        if len(held) >= 2 * k - 1:
            return


def _neighbours(sets: Sets, users: list[frozenset[int]], k: int) -> Iterator[list[int]]:
    """Yield for each distinct set itself and those nearest to it, near ones first."""
    n, sizes = len(sets), sets.sizes
    matrix = sparse(sets)
    columnwise = matrix.T.tocsr()
    count = min(n, NEAR + 2 * k)
    for start in range(0, n, 256):
        common = (matrix[start : start + 256] @ columnwise).toarray()
        distances = sizes[start : start + 256, None] + sizes - 2 * common
        # One number for distance and position: ties go to the lower position.
        keys = distances * n + np.arange(n)
        nearest = np.sort(np.partition(keys, count - 1, axis=1)[:, :count], axis=1) % n
        for row, near in enumerate(nearest.tolist()):
            held = set[int]().union(*(users[place] for place in near))
            if len(held) < k:
                # One user has all of these: the nearest sets of others must come too.
                for place in (np.sort(keys[row]) % n).tolist():
                    if users[place] - held:
                        near.append(place)
                        held |= users[place]
                    if len(held) >= k:
                        break
            yield near
