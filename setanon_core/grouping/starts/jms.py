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
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import sparse
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Operations, Params

FAR: Final = 1 << 40
"""Farther than any two sets are: a center that the operations do not allow."""

Floats = npt.NDArray[np.float64]


class _Clients:
    """Who is connected, and how far from an open facility everybody is."""

    def __init__(self, distances: Ints, weights: Ints, outside: Floats) -> None:
        self.distances = distances
        self.weights = weights
        self.order = np.argsort(distances, axis=1, kind="stable")
        self.free = np.ones(len(weights), np.bool_)
        # What a connected client pays; a free one has nothing to gain from a change.
        self.pays = np.zeros(len(weights))
        self.nearest = outside.copy()

    def price(self, j: int, f_j: float) -> float:
        """When facility j opens: the least cost per free client of any star around j."""
        order = self.order[j]
        star = order[self.free[order]]
        gains = float((self.weights * np.maximum(self.pays - self.distances[j], 0.0)).sum())
        weights = self.weights[star]
        costs = f_j - gains + np.cumsum(weights * self.distances[j, star])
        return float((costs / np.cumsum(weights)).min())

    def connect(self, time: float) -> bool:
        """Connect the free clients that an open facility reaches by now; tell if there were any."""
        reached = self.free & (self.nearest <= time)
        self.pays[reached] = self.nearest[reached]
        self.free[reached] = False
        return bool(reached.any())

    def open(self, j: int) -> None:
        """Let everybody who gains from facility j use it."""
        self.nearest = np.minimum(self.nearest, self.distances[j])
        self.pays = np.where(self.free, 0.0, np.minimum(self.pays, self.distances[j]))


def open_facilities(distances: Ints, weights: Ints, f: Floats, outside: Floats) -> list[int]:
    """Return the facilities to open, in order of opening.

    Args:
        distances: d_ij, one row for each facility, one column for each client.
        weights: how many clients each column stands for.
        f: opening cost of each facility.
        outside: distance of each client to a facility that is open already; infinite if none.

    >>> distances = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]])
    >>> nowhere = np.full(3, np.inf)
    >>> open_facilities(distances, np.ones(3, np.int64), np.array([2.0, 2.0, 2.0]), nowhere)
    [0, 2]
    """
    clients = _Clients(distances, weights, outside)
    heap = [(clients.price(j, f_j), j) for j, f_j in enumerate(f.tolist())]
    heapify(heap)
    opened: list[int] = []
    changes, seen = 0, [0] * len(f)
    while clients.free.any() and heap:
        time, j = heappop(heap)
        # Offers only fall while facilities open and clients connect: old prices are lower bounds.
        if seen[j] < changes:
            heappush(heap, (max(time, clients.price(j, f[j])), j))
            seen[j] = changes
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
        """Number items without gaps and find the distinct sets; the rest waits until asked."""
        _, items = np.unique(records.items, return_inverse=True)
        self.records = Records(items, records.offsets, records.users)
        self.k = params.k
        self.operations: Operations = params.operations
        first, self.weights, self.set_of = records.distinct
        self.sets = self.records.take(first)
        # The set and user of each record, once, and no more than k users of a set: enough to
        # find k nearest users and to tell whether a group has k.
        pairs = np.unique(self.set_of * (int(records.users.max()) + 1) + records.users)
        owners, users = np.divmod(pairs, int(records.users.max()) + 1)
        starts = np.searchsorted(owners, np.arange(len(first)))
        kept = np.arange(len(pairs)) - starts[owners] < self.k
        self.pair_sets, self.pair_users = owners[kept], users[kept]

    @cached_property
    def distances(self) -> Ints:
        """d_ij, the Hamming distances between distinct sets."""
        sizes, matrix = self.sets.sizes, sparse(self.sets)
        return np.asarray(sizes[:, None] + sizes - 2 * (matrix @ matrix.T).toarray())

    @cached_property
    def outside(self) -> Ints:
        """Distance of each set to the empty set: what a withdrawal costs, where it may be."""
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
        """Distinct users at each of `count` sites, exact below k, for sites of distinct sets."""
        sites = site_of[self.pair_sets]
        inside = sites != WITHDRAWN
        width = int(self.pair_users.max()) + 1
        met = np.unique(sites[inside] * width + self.pair_users[inside]) // width
        return np.bincount(met, minlength=count)
