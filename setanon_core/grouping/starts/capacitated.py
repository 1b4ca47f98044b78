"""Decide which short facilities to fill and which to empty: capacitated facility location.

Paper:      section 4, Theorem 3; the reduction is Svitkina's for lower-bounded facility location.
Guarantee:  none is claimed: the published constants of such local searches are for demands
            shipped at least cost and for a search that runs to its end.
Complexity: O(MOVES s NEAR) for s sites.
Deviation:  demands are met greedily, nearest pair first, instead of by a minimum-cost flow; only
            the NEAR nearest sites are asked; the search ends after MOVES moves.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.model.groups import WITHDRAWN

MOVES: Final = 2_000
"""Moves that the local search may try: exhaustive for tens of sites, seconds for hundreds."""

NEAR: Final = 24
"""Sites that a site may be filled from: more than k of them at the sizes where all are tried."""

Shipments = list[tuple[int, int, int]]
"""From which site, to which, how many."""


@dataclass(frozen=True, slots=True)
class Sites:
    """Open facilities: their distances to each other, to distinct sets, and to withdrawal."""

    between: Ints
    reach: Ints
    set_of: Ints
    """The distinct set of each record, a column of `reach`."""

    outside: Ints


def fill_or_push(labels: Ints, users: Ints, sites: Sites, k: int) -> Ints:
    """Move records between sites so that each site has k users or nobody.

    Shipments fill the sites that are worth it. What is left at a short site then goes up the
    tree of nearest neighbours, shortest way first, until k users have met or all are withdrawn.
    """
    members = [np.flatnonzero(labels == site).tolist() for site in range(len(sites.between))]
    loads = np.array([len(np.unique(users[those])) for those in members], np.int64)
    for source, target, count in fill_or_empty(loads, sites.between, k):
        keep = k if loads[source] >= k else 0
        _ship(members, users, sites, (source, target), (count, keep))
    far = int(sites.between.max(initial=0)) + int(sites.outside.max(initial=0)) + 1
    apart = sites.between + np.eye(len(members), dtype=np.int64) * far
    alive = np.array([bool(those) for those in members], np.bool_)
    while True:
        apart[:, ~alive] = far
        loads = np.array([len(np.unique(users[those])) for those in members], np.int64)
        short = np.flatnonzero(alive & (loads < k))
        if not len(short):
            break
        ways = np.minimum(apart[short].min(axis=1), sites.outside[short])
        site = int(short[np.argmin(ways)])
        parent = int(np.argmin(apart[site]))
        if apart[site, parent] <= sites.outside[site]:
            members[parent] += members[site]
        members[site], alive[site] = [], False
    placed = np.full(len(labels), WITHDRAWN)
    for site, those in enumerate(members):
        placed[those] = site
    return placed


def _ship(
    members: list[list[int]],
    users: Ints,
    sites: Sites,
    way: tuple[int, int],
    limits: tuple[int, int],
) -> None:
    """Move the records that mind least, each of a user who is new at the target."""
    (source, target), (count, keep) = way, limits
    here = Counter(users[members[source]].tolist())
    there = set(users[members[target]].tolist())
    those = sites.set_of[members[source]]
    detours = sites.reach[target, those] - sites.reach[source, those]
    for place in np.argsort(detours, kind="stable").tolist():
        record = members[source][place]
        user = int(users[record])
        if user in there or len(here) - (here[user] == 1) < keep:
            continue
        here = here - Counter((user,))
        there.add(user)
        members[target].append(record)
        count -= 1
        if not count:
            break
    gone = set(members[target])
    members[source] = [record for record in members[source] if record not in gone]


@dataclass(frozen=True, slots=True)
class _Instance:
    """Sites with their loads, what it costs to leave each, and the pairs, nearest first."""

    loads: Ints
    leaving: Ints
    sources: Ints
    targets: Ints
    lengths: Ints
    k: int

    def ship(self, emptied: Bools) -> tuple[float, Shipments]:
        """Meet the demands of all short sites that are not emptied; infinite if that fails."""
        supply = np.where(emptied, self.loads, np.maximum(self.loads - self.k, 0))
        demand = np.where(emptied, 0, np.maximum(self.k - self.loads, 0))
        rest = int(demand.sum())
        useful = (supply[self.sources] > 0) & (demand[self.targets] > 0)
        pairs = zip(
            self.sources[useful].tolist(),
            self.targets[useful].tolist(),
            self.lengths[useful].tolist(),
            strict=True,
        )
        left, wanted = supply.tolist(), demand.tolist()
        cost, shipments = 0, []
        for source, target, length in pairs:
            count = min(left[source], wanted[target])
            if count:
                left[source] -= count
                wanted[target] -= count
                cost += count * length
                shipments.append((source, target, count))
                rest -= count
                if not rest:
                    break
        stranded = int((np.asarray(left) * self.leaving)[emptied].sum())
        return (float("inf") if rest else cost + stranded), shipments


def fill_or_empty(loads: Ints, distances: Ints, k: int) -> Shipments:
    """Return what to ship between sites so that short ones are filled up to k, or emptied.

    A site with more than k clients can give away its surplus. A site with fewer demands the rest,
    unless it is emptied: then all its clients can be shipped, and those that nobody demands must
    go to the nearest other site. The emptied sites are the open facilities of the capacitated
    instance; all are open at first, and the search drops, adds and swaps.

    >>> fill_or_empty(np.array([2, 5]), np.array([[0, 1], [1, 0]]), k=3)
    [(1, 0, 1)]
    """
    short = np.flatnonzero(loads < k)
    if not len(short) or len(loads) == 1:
        return []
    instance, nearest = _instance(loads, distances, k)
    emptied = loads < k
    cost, shipments = instance.ship(emptied)
    tried, last = 0, 0
    moves = [[site] for site in short.tolist()]
    moves += [[site, other] for site in short.tolist() for other in nearest[site]]
    while tried < MOVES and tried - last < len(moves):
        move = moves[tried % len(moves)]
        tried += 1
        swaps = len(move) == 1 or (loads[move[1]] < k and emptied[move[0]] != emptied[move[1]])
        if not swaps:
            continue
        changed = emptied.copy()
        changed[move] ^= True
        new_cost, new_shipments = instance.ship(changed)
        if new_cost < cost:
            emptied, cost, shipments, last = changed, new_cost, new_shipments, tried
    return shipments


def _instance(loads: Ints, distances: Ints, k: int) -> tuple[_Instance, list[list[int]]]:
    count = len(loads)
    apart = distances + np.eye(count, dtype=np.int64) * (int(distances.max()) + 1)
    near = np.argsort(apart, axis=1, kind="stable")[:, : min(NEAR, count - 1)]
    sources, targets = near.ravel(), np.repeat(np.arange(count), near.shape[1])
    lengths = distances[sources, targets]
    order = np.argsort(lengths, kind="stable")
    instance = _Instance(
        loads, apart.min(axis=1), sources[order], targets[order], lengths[order], k
    )
    return instance, near[:, :3].tolist()
