"""Uncapacitated facility location: its instance, and the star greedy of Jain, Mahdian, Saberi.

Paper:      section 4, Theorem 3: "solving a modified instance of a regular facility location
            problem".
Guarantee:  the factor published for this algorithm is 1.61 on metric instances (Jain, Mahdian,
            Markakis, Saberi, Vazirani, JACM 50(6), 2003); cited, and only tested here.
Complexity: O(F n log n) to sort, then O(n) for each evaluation of a star; evaluations are lazy.
Deviation:  clients may have weights, and one facility may be open from the start.
"""

from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import Floats, sparse
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Operations, Params

FAR: Final = 1 << 40
"""Distance of a center that the operations do not allow; larger than any distance of sets."""


class _Clients:
    """Which clients are connected, and the distance of each client to the open facilities."""

    def __init__(self, distances: Ints, weights: Ints, to_open: Floats) -> None:
        self.distances = distances
        self.weights = weights
        self.order = np.argsort(distances, axis=1, kind="stable")
        self.is_free = np.ones(len(weights), np.bool_)
        # Connection cost of connected clients; 0 for free clients, which cannot switch.
        self.connection_cost = np.zeros(len(weights))
        self.to_open = to_open.copy()

    def opening_time(self, j: int, f_j: float) -> float:
        """When facility j opens: the least cost per free client of any star around j."""
        order = self.order[j]
        star = order[self.is_free[order]]
        switch_gain = np.maximum(self.connection_cost - self.distances[j], 0.0)
        gains = float((self.weights * switch_gain).sum())
        weights = self.weights[star]
        costs = f_j - gains + np.cumsum(weights * self.distances[j, star])
        return float((costs / np.cumsum(weights)).min())

    def connect(self, time: float) -> bool:
        """Connect the free clients within distance `time` of an open facility; whether any was."""
        reached = self.is_free & (self.to_open <= time)
        self.connection_cost[reached] = self.to_open[reached]
        self.is_free[reached] = False
        return bool(reached.any())

    def open(self, j: int) -> None:
        """Open facility j; connected clients switch to it if it is nearer."""
        self.to_open = np.minimum(self.to_open, self.distances[j])
        switched = np.minimum(self.connection_cost, self.distances[j])
        self.connection_cost = np.where(self.is_free, 0.0, switched)


def open_facilities(distances: Ints, weights: Ints, f: Floats, to_open: Floats) -> list[int]:
    """Return the facilities to open, in order of opening.

    Args:
        distances: d_ij, one row for each facility, one column for each client.
        weights: number of clients that each column represents.
        f: opening cost of each facility.
        to_open: distance of each client to an already open facility; infinite if there is none.

    >>> distances = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]])
    >>> infinite = np.full(3, np.inf)
    >>> open_facilities(distances, np.ones(3, np.int64), np.array([2.0, 2.0, 2.0]), infinite)
    [0, 2]
    """
    clients = _Clients(distances, weights, to_open)
    heap = [(clients.opening_time(j, f_j), j) for j, f_j in enumerate(f.tolist())]
    heapify(heap)
    opened: list[int] = []
    changes, evaluated_at = 0, [0] * len(f)
    while clients.is_free.any() and heap:
        time, j = heappop(heap)
        # Opening times only rise with each change: outdated ones are lower bounds.
        if evaluated_at[j] < changes:
            heappush(heap, (max(time, clients.opening_time(j, f[j])), j))
            evaluated_at[j] = changes
        elif clients.connect(time):
            changes += 1
            heappush(heap, (time, j))
        else:
            clients.open(j)
            clients.connect(time)
            opened.append(j)
            changes += 1
    return opened


class Instance:
    """Distinct sets as clients and facilities: weights, distances d_ij, users and R_j."""

    def __init__(self, records: Records, params: Params) -> None:
        """Number items without gaps and find the distinct sets; distances are computed lazily."""
        _, items = np.unique(records.items, return_inverse=True)
        self.records = Records(items, records.offsets, records.users)
        self.k = params.k
        self.operations: Operations = params.operations
        first, self.weights, self.set_of = records.distinct
        self.sets = self.records.take(first)
        # Distinct pairs (set, user), at most k per set: enough for the k nearest users and for
        # whether a group has k users.
        pairs = np.unique(self.set_of * (int(records.users.max()) + 1) + records.users)
        pair_sets, pair_users = np.divmod(pairs, int(records.users.max()) + 1)
        starts = np.searchsorted(pair_sets, np.arange(len(first)))
        kept = np.arange(len(pairs)) - starts[pair_sets] < self.k
        self.pair_sets, self.pair_users = pair_sets[kept], pair_users[kept]

    @cached_property
    def distances(self) -> Ints:
        """d_ij, the Hamming distances between distinct sets."""
        sizes, matrix = self.sets.sizes, sparse(self.sets)
        return np.asarray(sizes[:, None] + sizes - 2 * (matrix @ matrix.T).toarray())

    @cached_property
    def to_withdrawal(self) -> Ints:
        """Cost of withdrawing each set: its size, or `FAR` if only additions are allowed."""
        return np.where(self.operations == "additions", FAR, self.sets.sizes)

    @cached_property
    def R(self) -> Ints:  # noqa: N802 - the letter of the literature
        """R_j: sum of the distances from j to its k nearest users."""
        order = np.argsort(self.pair_users, kind="stable")
        starts = np.flatnonzero(np.diff(self.pair_users[order], prepend=-1))
        sums = []
        for d_j in self.distances:
            nearest = np.minimum.reduceat(d_j[self.pair_sets[order]], starts)
            sums.append(int(np.partition(nearest, self.k - 1)[: self.k].sum()))
        return np.asarray(sums)

    def user_counts(self, site_of: Ints, count: int) -> Ints:
        """Distinct users at each of `count` sites, exact below k; `site_of` has one per set."""
        sites = site_of[self.pair_sets]
        inside = sites != WITHDRAWN
        width = int(self.pair_users.max()) + 1
        site_of_pair = np.unique(sites[inside] * width + self.pair_users[inside]) // width
        return np.bincount(site_of_pair, minlength=count)
