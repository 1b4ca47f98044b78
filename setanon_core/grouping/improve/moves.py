"""The moves of the local search: move, swap, replace, dissolve and open.

Paper:      none; section 4's problem, improved from any solution.
Guarantee:  no move raises the cost, and every group keeps k users.
Complexity: O(n * (n + G) * m) a round for n records, G groups and m items.
Deviation:  split is an open that takes its members from one group.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.grouping.improve.block import Block
from setanon_core.grouping.matrices import Floats

TRIES: Final = 6
"""Candidates that dissolve and open try for real before they give up."""


def descend(block: Block) -> None:
    """Apply the cheapest kind of move that still helps, until none does."""
    while any(step(block) for step in STEPS):
        pass


def move(block: Block) -> bool:
    """Send single records to groups that take them for less than their own saves."""
    delta = block.add - block.leave[:, None]
    delta[~block.may_leave] = np.inf
    delta[np.arange(len(delta)), block.group] = np.inf
    target = delta.argmin(1)
    gain = delta[np.arange(len(delta)), target]
    taken = _Touched(block)
    for i in _rising(gain):
        if taken.free(block.group[i], target[i]):
            block.group[i] = target[i]
    return taken.commit()


def exchange(block: Block) -> bool:
    """Swap two records; or let i move on to where it costs least and j take its place."""
    n = len(block.group)
    change = block.replace()
    swap = change + change.T
    add = block.add.copy()
    add[np.arange(n), block.group] = np.inf
    onward = add.argmin(1)
    # j leaves its group for i's place; its own group must manage without it.
    free = np.where(block.may_leave, -block.leave, np.inf)
    chain = change + free + add[np.arange(n), onward][:, None]
    # Where i goes must not be where j comes from: that is the swap. Withdrawal is no place.
    chain[(onward[:, None] == block.group) & (onward[:, None] > 0)] = np.inf
    partner, follower = swap.argmin(1), chain.argmin(1)
    by_swap, by_chain = swap[np.arange(n), partner], chain[np.arange(n), follower]
    taken = _Touched(block)
    for i in _rising(np.minimum(by_swap, by_chain)):
        here = block.group[i]
        if by_swap[i] <= by_chain[i]:
            j = partner[i]
            if taken.free(here, block.group[j]):
                block.group[i], block.group[j] = block.group[j], here
        else:
            j = follower[i]
            if taken.free(here, block.group[j], onward[i]):
                block.group[i], block.group[j] = onward[i], here
    return taken.commit()


def dissolve(block: Block) -> bool:
    """Close a group and send each member where it costs least."""
    n = len(block.group)
    add = block.add.copy()
    add[np.arange(n), block.group] = np.inf
    rest = np.bincount(block.group, add.min(1), minlength=block.slots) - block.costs
    rest[(block.size == 0) | (np.arange(block.slots) == 0)] = np.inf
    target = add.argmin(1)
    for g in np.argsort(rest, kind="stable")[:TRIES]:
        if not rest[g] <= 0:
            break
        inside = block.group == g
        if _better(block, np.where(inside, target, block.group)):
            return True
    return False


def open_group(block: Block) -> bool:
    """Open a record's set as a new center, with the k users that come to it for least."""
    empty = np.flatnonzero(block.size[1:] == 0)
    if len(empty) == 0:
        return False
    pull = np.where(block.may_leave, _distances(block) - block.leave, np.inf)
    nearest = np.sort(pull, axis=1)[:, : block.k]
    value = nearest.sum(1) + np.minimum(pull, 0).sum(1) - np.minimum(nearest, 0).sum(1)
    for c in np.argsort(value, kind="stable")[:TRIES]:
        if not value[c] < 0:
            break
        if _better(block, _pulled(block, pull[c], int(empty[0]) + 1)):
            return True
    return False


STEPS: Final[tuple[Callable[[Block], bool], ...]] = (move, exchange, dissolve, open_group)
"""In the order of their price: a later step runs only where no earlier one helps."""


class _Touched:
    """Groups that a round has changed: the prices of a second move there would be stale."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.groups: set[int] = set()

    def free(self, *groups: int) -> bool:
        """Claim these groups, unless one is taken; withdrawal is never taken."""
        wanted = {int(g) for g in groups} - {0}
        if self.groups & wanted:
            return False
        self.groups |= wanted
        return True

    def commit(self) -> bool:
        if self.groups:
            self.block.price()
        return bool(self.groups)


def _rising(gain: Floats) -> list[int]:
    """Positions with a negative price, the most negative first."""
    order = np.argsort(gain, kind="stable")
    return order[gain[order] < 0].tolist()  # type: ignore[no-any-return]


def _distances(block: Block) -> Floats:
    """What a record adds to the cost of a new center, about: a forbidden edit moves the center.

    Where nothing may be deleted, an item beyond the center is added to all k members instead;
    where nothing may be added, an item short of it is deleted from all.
    """
    common = block.centers @ block.X.T
    short: Floats = block.centers.sum(1)[:, None] - common
    beyond: Floats = block.X.sum(1) - common
    if block.operations == "additions":
        beyond *= block.k
    elif block.operations == "deletions":
        short *= block.k
    return short + beyond


def _pulled(block: Block, pull: Floats, slot: int) -> Ints:
    """Labels after the cheapest records have come to `slot`, each group keeping k users."""
    group, seats = block.group.copy(), block.seats.copy()
    users = np.count_nonzero(seats, axis=1)
    for i in np.argsort(pull, kind="stable").tolist():
        u, g = block.users[i], group[i]
        if pull[i] == np.inf or (users[slot] >= block.k and pull[i] >= 0):
            break
        last = seats[g, u] == 1
        # A second record of a user brings the new group no nearer to k.
        if (last and g > 0 and users[g] <= block.k) or (seats[slot, u] and pull[i] >= 0):
            continue
        seats[g, u] -= 1
        users[g] -= last
        users[slot] += seats[slot, u] == 0
        seats[slot, u] += 1
        group[i] = slot
    return group if users[slot] >= block.k else block.group


def _better(block: Block, group: Ints) -> bool:
    """Keep new labels if they cost less; otherwise leave the block as it was."""
    before, old = block.cost, block.group
    if (group == old).all():
        return False
    block.group = group
    block.price()
    if block.cost < before:
        return True
    block.group = old
    block.price()
    return False
