"""Prices of groups: what one more record costs a group, and what one less costs its cheapest chain.

Paper:      none; dual values of the integer program for fixed y_j.
Guarantee:  a group closes only if the cost falls; every other group keeps k users.
Complexity: that of one search of `network` each way, and O(arcs of all records).
Deviation:  not in the paper. Prices hold for one record at a time; every move is made and undone if
            its actual cost is higher.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges
from setanon_core.grouping.improve.arcs import NEAREST, Arcs
from setanon_core.grouping.improve.assignment import Assignment, Move
from setanon_core.grouping.improve.network import Network

HOPS: Final = 4
"""Moves of a chain that completes a group, or makes use of an additional record."""

UNREACHED: Final = 1 << 20
"""Price of a group that no chain can complete."""

CLOSABLE: Final = 3
"""Users beyond k up to which a group may close: larger ones never pay."""


class Prices:
    """Prices at one state; chains that realize them remain usable while records move."""

    def __init__(self, state: Assignment, arcs: Arcs, seed: int) -> None:
        """Search the cheapest chains to and from each group, and each record's alternative."""
        self._state, self._network = state, Network(state, arcs, seed)
        self._into = self._network.paths(state.has_spare_user, HOPS)
        self._onward = self._network.onward(HOPS)
        self.price: Ints = np.clip(self._into.distance, 0, UNREACHED)
        """Cost of the cheapest chain that replaces a user of a group."""

        reward: Ints = np.where(state.n_users > state.k, 0, -self._onward.distance)
        reward[state.withdrawn] = 0
        best, self.alternative = _alternatives(state, arcs, reward)
        """For each record, its saving at the best other center, and the reward of that group."""

        self.closing_gain: Ints = np.bincount(
            state.node, self.alternative - state.saving, minlength=state.n_nodes
        ).astype(np.int64)
        """What all members of a group together gain if it closes, at these prices."""

        closable = (state.n_users > 0) & (state.n_users <= state.k + CLOSABLE)
        self.closing_gain[~closable] = -UNREACHED
        # Memoryviews: faster than arrays for reading single elements.
        self.price_of, self.alternative_of = self.price.data, self.alternative.data
        self._reward_of = reward.data
        self._target = np.ascontiguousarray(arcs.center[best]).data
        self._saving = np.ascontiguousarray(arcs.center_saving[best]).data

    def join(self, move: Move) -> bool:
        """Move a record; its group is completed by the cheapest chain, or nothing is done."""
        state = self._state
        source, mark = state.node_of[move.record], state.mark()
        state.move(move)
        if not state.lacking(source):
            return True
        chain = self._network.moves(self._network.edges_to(source, self._into.edges))
        if chain and state.apply(chain) and not state.lacking(source):
            return True
        state.undo(mark)
        return False

    def disperse(self, group: int) -> bool:
        """Move all members of a group to their alternatives; then let these groups use them."""
        state, network = self._state, self._network
        targets = set()
        for i in sorted(state.members[group]):
            target = self._target[i]
            if target == group or not state.users_in[target]:
                return False
            state.move(Move(i, target, self._saving[i]))
            targets.add(target)
        for target in sorted(targets):
            if self._reward_of[target] > 0:
                chain = network.moves(network.edges_from(target, self._onward.edges))
                if any(move.node == group for move in chain):
                    continue
                gain, mark = state.gain, state.mark()
                if chain and state.apply(chain) and state.gain <= gain:
                    state.undo(mark)
        return True


def _alternatives(state: Assignment, arcs: Arcs, reward: Ints) -> tuple[Ints, Ints]:
    """For each record, the arc to another group with the greatest saving and reward; their sum."""
    sizes = np.diff(arcs.offsets)[arcs.ranks]
    arc = concat_ranges(arcs.offsets[:-1][arcs.ranks], sizes)
    starts = np.cumsum(sizes) - sizes
    record, center = np.repeat(np.arange(len(sizes)), sizes), arcs.center[arc]
    other = (center != state.node[record]) & (state.n_users[center] > 0)
    value = np.where(other, arcs.center_saving[arc] + reward[center], -UNREACHED)
    # One key: the greatest value, and the first of its arcs.
    position, n = np.arange(len(arc)) - starts[record], NEAREST + 1
    best = np.maximum.reduceat(value * n + (n - 1 - position), starts)
    greatest, reversed_position = np.divmod(best, n)
    return arc[starts + n - 1 - reversed_position], greatest


def close_groups(state: Assignment, arcs: Arcs, seed: int) -> None:
    """Close the groups whose members are better off elsewhere, greatest gain first."""
    prices = Prices(state, arcs, seed)
    gain = prices.closing_gain
    gain[state.withdrawn] = 0
    order = np.argsort(-gain, kind="stable")
    for group in order[gain[order] > 0].tolist():
        mark, before = state.mark(), state.gain
        if not prices.disperse(group) or state.gain <= before:
            state.undo(mark)
