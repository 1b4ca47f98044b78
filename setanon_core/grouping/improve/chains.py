"""Chains: move several records at once, each to the group that the next one leaves.

While centers stand still, the best assignment with at least k users per group is a transport
problem, and an assignment is optimal unless some chain improves it: a record of a group with users
to spare, or a withdrawn one, moves to another group, a record of that group moves on, and so on; or
the last record moves to the first group of all.

Paper:      none; the x_ij of the integer program for fixed y_j.
Guarantee:  never raises the cost; every group keeps k users.
Complexity: that of a few searches of `network`, and the lengths of the applied chains.
Deviation:  not in the paper. Chains have at most `HOPS[-1]` moves, and of each pair of groups only
            the cheapest move is considered at a time, so a local optimum remains.
"""

from typing import Final

import numpy as np

from setanon_core.grouping.improve.arcs import Arcs
from setanon_core.grouping.improve.assignment import Assignment
from setanon_core.grouping.improve.network import Network

HOPS: Final = (2, 3, 4, 6, 9, 12)
"""Moves per chain, search by search."""


def apply_chains(state: Assignment, arcs: Arcs) -> None:
    """Apply improving chains, from short to long ones."""
    for seed, hops in enumerate(HOPS):
        network = Network(state, arcs, seed)
        distance, edges = network.paths(state.has_spare_user, hops)
        ends = np.flatnonzero(distance < 0)
        for node in ends[np.argsort(distance[ends], kind="stable")].tolist():
            _apply(network, state, network.edges_to(node, edges))
        cycles = network.cycles(hops)
        for number in np.argsort(cycles.cost, kind="stable").tolist():
            edge, hop = int(cycles.closing[number]), int(cycles.hop[number])
            path = network.edges_to(int(network.source[edge]), cycles.edges[:hop])
            _apply(network, state, [edge, *path])


def _apply(network: Network, state: Assignment, edges: list[int]) -> None:
    """Apply a chain if it still improves the assignment."""
    moves = network.moves(edges)
    if sum(move.saving - state.saving_of[move.record] for move in moves) > 0:
        state.apply(moves)
