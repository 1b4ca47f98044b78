"""The network of groups: its edges are the cheapest moves of a record from one group to another.

Paper:      none; the residual network of the integer program for fixed y_j.
Guarantee:  distances are those of paths of at most the given number of edges.
Complexity: O(A log A) for A arcs of the records' distinct (group, set), O(E) per hop for E edges.
Deviation:  not in the paper. One edge per pair of groups; ties are broken by a seeded permutation.
"""

from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, run_starts
from setanon_core.grouping.improve.arcs import Arcs
from setanon_core.grouping.improve.assignment import Assignment, Move

TRIED: Final = 8
"""Records of one set and group that are tried for an edge: some have moved already."""


class Paths(NamedTuple):
    """Cheapest paths: the distance of each node, and the edge at which it was reached, per hop."""

    distance: Ints
    edges: list[Ints]


class Cycles(NamedTuple):
    """Improving cycles: cost, edge that closes each, and length of the path that it closes."""

    cost: Ints
    closing: Ints
    hop: Ints
    edges: list[Ints]


class Network:
    """The edges at one state of the assignment; they remain usable while records move."""

    def __init__(self, state: Assignment, arcs: Arcs, seed: int) -> None:
        """Reduce the arcs of all records to pairs of nodes."""
        rng = np.random.default_rng(seed)
        n_sets, self._state = len(arcs.offsets) - 1, state
        key = state.node * n_sets + arcs.ranks
        self._order = np.argsort(key, kind="stable")
        first = np.flatnonzero(run_starts(key[self._order]))
        self._offsets = np.append(first, len(key))
        node, sets = np.divmod(key[self._order[first]], n_sets)
        sizes = np.diff(arcs.offsets)[sets]
        arc = concat_ranges(arcs.offsets[:-1][sets], sizes)
        cell = np.repeat(np.arange(len(node)), sizes)
        saving = state.saving[self._order[first]]
        source, target = node[cell], arcs.center[arc]
        cost = saving[cell] - arcs.center_saving[arc]
        usable = np.flatnonzero((source != target) & (state.n_users[target] > 0))
        # One key: the pair of nodes, then the cost, then a random number.
        pair = target[usable] * state.n_nodes + source[usable]
        least = cost[usable] - cost.min(initial=0) << 8 | rng.integers(0, 256, len(usable))
        order = usable[np.argsort(pair * (int(least.max(initial=0)) + 1) + least, kind="stable")]
        order = order[run_starts(target[order], source[order])]
        self._cell, self.source, self.target = cell[order], source[order], target[order]
        self.cost, self._saving = cost[order], arcs.center_saving[arc[order]]
        self._tie = rng.permutation(len(order))
        # Memoryviews: faster than arrays for single elements.
        self._source, self._target, self._cells = (
            self.source.data,
            self.target.data,
            self._cell.data,
        )
        self._savings = np.ascontiguousarray(self._saving).data
        self._record, self._start = self._order.data, self._offsets.data

    def paths(self, start: Ints, hops: int) -> Paths:
        """Cheapest paths to each node, from nodes with this distance at the start."""
        return self._search(start, hops, self.source, _Ends(self.target))

    def onward(self, hops: int) -> Paths:
        """Cheapest paths from each node to any node; the distance is at most 0."""
        start = np.zeros(self._state.n_nodes, np.int64)
        return self._search(start, hops, self.target, _Ends(self.source))

    def _search(self, start: Ints, hops: int, other: Ints, ends: "_Ends") -> Paths:
        distance, edges = start.copy(), []
        for _ in range(hops if len(self.cost) else 0):
            nodes, least, edge = ends.nearest(distance[other] + self.cost, self._tie)
            better = least < distance[nodes]
            if not better.any():
                break
            edges.append(np.full(len(distance), -1))
            edges[-1][nodes[better]] = edge[better]
            distance[nodes[better]] = least[better]
        return Paths(distance, edges)

    def cycles(self, hops: int) -> Cycles:
        """Improving cycles of at most `hops` edges, of those that a search from all nodes meets."""
        n = self._state.n_nodes
        distance, start, edges = np.zeros(n, np.int64), np.arange(n), []
        ends, none = _Ends(self.target), np.empty(0, np.int64)
        found = [(none, none, none)]
        for hop in range(hops if len(self.cost) else 0):
            reached = distance[self.source] + self.cost
            closing = np.flatnonzero((start[self.source] == self.target) & (reached < 0))
            found.append((reached[closing], closing, np.full(len(closing), hop)))
            nodes, least, edge = ends.nearest(reached, self._tie)
            better = least < distance[nodes]
            if not better.any():
                break
            nodes, edge = nodes[better], edge[better]
            edges.append(np.full(n, -1))
            edges[-1][nodes] = edge
            distance[nodes], start[nodes] = least[better], start[self.source[edge]]
        cost, closing, hop_of = map(np.concatenate, zip(*found, strict=True))
        return Cycles(cost, closing, hop_of, edges)

    def edges_to(self, node: int, edges: list[Ints]) -> list[int]:
        """The edges of the path to a node, last one first."""
        return _follow(node, edges, self._source)

    def edges_from(self, node: int, edges: list[Ints]) -> list[int]:
        """The edges of the path of `onward` from a node, first one first."""
        return _follow(node, edges, self._target)

    def moves(self, edges: list[int]) -> list[Move]:
        """The move of one record for each edge; empty if no record is left for some edge."""
        node_of, moves = self._state.node_of, []
        chosen: set[int] = set()
        for edge in edges:
            cell, source = self._cells[edge], self._source[edge]
            low, high = self._start[cell], self._start[cell + 1]
            for position in range(low, min(high, low + TRIED)):
                i = self._record[position]
                if node_of[i] == source and i not in chosen:
                    chosen.add(i)
                    moves.append(Move(i, self._target[edge], self._savings[edge]))
                    break
            else:
                return []
        return moves


def _follow(node: int, edges: list[Ints], other: memoryview) -> list[int]:
    """The edges at which nodes were reached, from a node on; `other` has the far end of each."""
    path = []
    for reached in reversed(edges):
        edge = reached.data[node]
        if edge >= 0:
            path.append(edge)
            node = other[edge]
    return path


class _Ends:
    """Edges sorted by the node at one end."""

    def __init__(self, node: Ints) -> None:
        self._order = np.argsort(node, kind="stable")
        ascending = node[self._order]
        self._starts = np.flatnonzero(run_starts(ascending))
        self._nodes = ascending[self._starts]

    def nearest(self, distance: Ints, tie: Ints) -> tuple[Ints, Ints, Ints]:
        """Each node that edges end at, the least distance of these edges, and its edge."""
        n = len(tie)
        key = (distance * n + tie)[self._order]
        least, chosen = np.divmod(np.minimum.reduceat(key, self._starts), n)
        by_tie = np.empty(n, np.int64)
        by_tie[tie] = np.arange(n)
        return self._nodes, least, by_tie[chosen]
