"""Decide which facilities with too few users to fill and which to empty.

Paper:      section 4, Theorem 3; the reduction to capacitated facility location is Svitkina's for
            lower-bounded facility location.
Guarantee:  none is claimed: the published constants of such local searches assume minimum-cost
            shipments and a search that runs to completion.
Complexity: O(MAX_MOVES * s * NEAREST_SITES) for s sites.
Deviation:  demands are met greedily, nearest pair first, instead of by a minimum-cost flow; only
            the NEAREST_SITES nearest sites ship; the search ends after MAX_MOVES moves.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.model.groups import WITHDRAWN

MAX_MOVES: Final = 2_000
"""Moves of the local search: exhaustive for tens of sites, seconds for hundreds."""

NEAREST_SITES: Final = 24
"""Sites that can ship to a site: more than k at the sizes where all pairs are tried."""


class Shipment(NamedTuple):
    """A number of users to move from one site to another."""

    source: int
    target: int
    n_users: int


@dataclass(frozen=True, slots=True)
class Sites:
    """Open facilities: their distances to each other, to distinct sets, and to withdrawal."""

    between: Ints
    to_sets: Ints
    set_of: Ints
    """The distinct set of each record, a column of `to_sets`."""

    to_withdrawal: Ints


def fill_or_push(labels: Ints, users: Ints, sites: Sites, k: int) -> Ints:
    """Move records between sites, so that each site has at least k users or is empty.

    First, shipments fill the sites chosen by `fill_or_empty`. Then every site with fewer than k
    users is merged into its nearest site, nearest pair first, or withdrawn if that is nearer.
    """
    members = [np.flatnonzero(labels == site).tolist() for site in range(len(sites.between))]
    loads = _count_users(members, users)
    for shipment in fill_or_empty(loads, sites.between, k):
        min_users = k if loads[shipment.source] >= k else 0
        _ship(members, users, sites, shipment, min_users)
    infinite = int(sites.between.max(initial=0)) + int(sites.to_withdrawal.max(initial=0)) + 1
    distances = sites.between + np.eye(len(members), dtype=np.int64) * infinite
    is_open = np.array([bool(records) for records in members], np.bool_)
    while True:
        distances[:, ~is_open] = infinite
        short = np.flatnonzero(is_open & (_count_users(members, users) < k))
        if not len(short):
            break
        to_nearest = np.minimum(distances[short].min(axis=1), sites.to_withdrawal[short])
        site = int(short[np.argmin(to_nearest)])
        nearest = int(np.argmin(distances[site]))
        if distances[site, nearest] <= sites.to_withdrawal[site]:
            members[nearest] += members[site]
        members[site], is_open[site] = [], False
    new_labels = np.full(len(labels), WITHDRAWN)
    for site, records in enumerate(members):
        new_labels[records] = site
    return new_labels


def _count_users(members: list[list[int]], users: Ints) -> Ints:
    return np.array([len(np.unique(users[records])) for records in members], np.int64)


def _ship(
    members: list[list[int]], users: Ints, sites: Sites, shipment: Shipment, min_users: int
) -> None:
    """Move records of users new to the target, least detour first; keep `min_users` at source."""
    source, target, count = shipment
    source_users = Counter(users[members[source]].tolist())
    target_users = set(users[members[target]].tolist())
    sets = sites.set_of[members[source]]
    detours = sites.to_sets[target, sets] - sites.to_sets[source, sets]
    for position in np.argsort(detours, kind="stable").tolist():
        record = members[source][position]
        user = int(users[record])
        users_left = len(source_users) - (source_users[user] == 1)
        if user in target_users or users_left < min_users:
            continue
        source_users = source_users - Counter((user,))
        target_users.add(user)
        members[target].append(record)
        count -= 1
        if not count:
            break
    moved = set(members[target])
    members[source] = [record for record in members[source] if record not in moved]


@dataclass(frozen=True, slots=True)
class _Instance:
    """Loads of the sites, distance from each to its nearest site, and site pairs, nearest first."""

    loads: Ints
    to_nearest: Ints
    sources: Ints
    targets: Ints
    lengths: Ints
    k: int

    def ship(self, emptied: Bools) -> tuple[float, list[Shipment]]:
        """Meet the demands of all short sites that are not emptied; infinite cost if impossible."""
        supply = np.where(emptied, self.loads, np.maximum(self.loads - self.k, 0))
        demand = np.where(emptied, 0, np.maximum(self.k - self.loads, 0))
        total_demand = int(demand.sum())
        useful = (supply[self.sources] > 0) & (demand[self.targets] > 0)
        pairs = zip(
            self.sources[useful].tolist(),
            self.targets[useful].tolist(),
            self.lengths[useful].tolist(),
            strict=True,
        )
        supplies, demands = supply.tolist(), demand.tolist()
        cost, shipments = 0, []
        for source, target, length in pairs:
            count = min(supplies[source], demands[target])
            if count:
                supplies[source] -= count
                demands[target] -= count
                cost += count * length
                shipments.append(Shipment(source, target, count))
                total_demand -= count
                if not total_demand:
                    break
        not_demanded = int((np.asarray(supplies) * self.to_nearest)[emptied].sum())
        return (float("inf") if total_demand else cost + not_demanded), shipments


def fill_or_empty(loads: Ints, distances: Ints, k: int) -> list[Shipment]:
    """Choose shipments between sites that fill short sites up to k users, or empty them.

    A site with more than k clients can ship its surplus. A site with fewer than k is short: it
    demands the difference, unless it is emptied. All clients of an emptied site can be shipped;
    those that no site demands go to the nearest other site. The emptied sites are the open
    facilities of the capacitated instance: initially all short sites are open; the local search
    drops, adds and swaps them.

    >>> fill_or_empty(np.array([2, 5]), np.array([[0, 1], [1, 0]]), k=3)
    [Shipment(source=1, target=0, n_users=1)]
    """
    short = np.flatnonzero(loads < k)
    if not len(short) or len(loads) == 1:
        return []
    instance, nearest = _instance(loads, distances, k)
    emptied = loads < k
    cost, shipments = instance.ship(emptied)
    tried, last_improvement = 0, 0
    moves = [[site] for site in short.tolist()]
    moves += [[site, other] for site in short.tolist() for other in nearest[site]]
    while tried < MAX_MOVES and tried - last_improvement < len(moves):
        move = moves[tried % len(moves)]
        tried += 1
        valid = len(move) == 1 or (loads[move[1]] < k and emptied[move[0]] != emptied[move[1]])
        if not valid:
            continue
        changed = emptied.copy()
        changed[move] ^= True
        new_cost, new_shipments = instance.ship(changed)
        if new_cost < cost:
            emptied, cost, shipments = changed, new_cost, new_shipments
            last_improvement = tried
    return shipments


def _instance(loads: Ints, distances: Ints, k: int) -> tuple[_Instance, list[list[int]]]:
    """The instance, and the three nearest sites of each site."""
    count = len(loads)
    to_others = distances + np.eye(count, dtype=np.int64) * (int(distances.max()) + 1)
    near = np.argsort(to_others, axis=1, kind="stable")[:, : min(NEAREST_SITES, count - 1)]
    sources, targets = near.ravel(), np.repeat(np.arange(count), near.shape[1])
    lengths = distances[sources, targets]
    order = np.argsort(lengths, kind="stable")
    instance = _Instance(
        loads, to_others.min(axis=1), sources[order], targets[order], lengths[order], k
    )
    return instance, near[:, :3].tolist()
