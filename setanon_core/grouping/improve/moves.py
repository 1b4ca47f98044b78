"""The moves of the local search: move, exchange, dissolve and open.

Paper:      none; they improve any solution of section 4's problem.
Guarantee:  no move raises the cost, and every group keeps k users.
Complexity: O(n * (n + G) * m) per round for n records, G groups and m items.
Deviation:  a split is an open that takes all members from one group.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.grouping.improve.block import Block
from setanon_core.grouping.matrices import Floats

TRIES: Final = 6
"""Candidates that `dissolve` and `open_group` apply and evaluate before they give up."""


def descend(block: Block) -> None:
    """Apply the first kind of move in `MOVES` that lowers the cost, until none does."""
    while any(improve(block) for improve in MOVES):
        pass


def move(block: Block) -> bool:
    """Move single records to groups where they cost less; return whether any record moved."""
    change = block.entry_cost - block.exit_saving[:, None]
    change[~block.may_leave] = np.inf
    change[np.arange(len(change)), block.group] = np.inf
    target = change.argmin(1)
    least_change = change[np.arange(len(change)), target]
    changed = _ChangedGroups(block)
    for i in _improving(least_change):
        if changed.claim(block.group[i], target[i]):
            block.group[i] = target[i]
    return changed.commit()


def exchange(block: Block) -> bool:
    """Swap records i and j; or move i to its cheapest other group and j into the group of i."""
    n = len(block.group)
    change = block.replacement_costs()
    swap = change + change.T
    entry_cost = block.entry_cost.copy()
    entry_cost[np.arange(n), block.group] = np.inf
    cheapest = entry_cost.argmin(1)
    # j replaces i, so the group of j must have k users without j.
    exit_cost = np.where(block.may_leave, -block.exit_saving, np.inf)
    chain = change + exit_cost + entry_cost[np.arange(n), cheapest][:, None]
    # If i moves to the group of j, that is a swap; withdrawal is not a group.
    chain[(cheapest[:, None] == block.group) & (cheapest[:, None] > 0)] = np.inf
    partner, follower = swap.argmin(1), chain.argmin(1)
    by_swap, by_chain = swap[np.arange(n), partner], chain[np.arange(n), follower]
    changed = _ChangedGroups(block)
    for i in _improving(np.minimum(by_swap, by_chain)):
        source = block.group[i]
        if by_swap[i] <= by_chain[i]:
            j = partner[i]
            if changed.claim(source, block.group[j]):
                block.group[i], block.group[j] = block.group[j], source
        else:
            j = follower[i]
            if changed.claim(source, block.group[j], cheapest[i]):
                block.group[i], block.group[j] = cheapest[i], source
    return changed.commit()


def dissolve(block: Block) -> bool:
    """Dissolve one group: each member moves to the group where it costs least."""
    n = len(block.group)
    entry_cost = block.entry_cost.copy()
    entry_cost[np.arange(n), block.group] = np.inf
    change = np.bincount(block.group, entry_cost.min(1), minlength=block.slots) - block.costs
    change[(block.size == 0) | (np.arange(block.slots) == 0)] = np.inf
    target = entry_cost.argmin(1)
    for g in np.argsort(change, kind="stable")[:TRIES]:
        if not change[g] <= 0:
            break
        inside = block.group == g
        if _apply_if_cheaper(block, np.where(inside, target, block.group)):
            return True
    return False


def open_group(block: Block) -> bool:
    """Open a new group at a record's set, with the k users whose moves cost least."""
    empty = np.flatnonzero(block.size[1:] == 0)
    if len(empty) == 0:
        return False
    change = np.where(block.may_leave, _distances(block) - block.exit_saving, np.inf)
    nearest = np.sort(change, axis=1)[:, : block.k]
    total = nearest.sum(1) + np.minimum(change, 0).sum(1) - np.minimum(nearest, 0).sum(1)
    for c in np.argsort(total, kind="stable")[:TRIES]:
        if not total[c] < 0:
            break
        if _apply_if_cheaper(block, _labels_with_new_group(block, change[c], int(empty[0]) + 1)):
            return True
    return False


MOVES: Final[tuple[Callable[[Block], bool], ...]] = (move, exchange, dissolve, open_group)
"""Fastest first: a later move is tried only if no earlier one lowers the cost."""


class _ChangedGroups:
    """The groups changed in this round: cost changes computed before are invalid for them."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.groups: set[int] = set()

    def claim(self, *groups: int) -> bool:
        """Mark these groups as changed, unless one already is; withdrawal is never marked."""
        claimed = {int(g) for g in groups} - {0}
        if self.groups & claimed:
            return False
        self.groups |= claimed
        return True

    def commit(self) -> bool:
        if self.groups:
            self.block.update()
        return bool(self.groups)


def _improving(change: Floats) -> list[int]:
    """Positions with a negative cost change, lowest first."""
    order = np.argsort(change, kind="stable")
    return order[change[order] < 0].tolist()  # type: ignore[no-any-return]


def _distances(block: Block) -> Floats:
    """Approximate cost of each record in a new group at each center.

    If only additions are allowed, an item of a record outside the center is added to all k members;
    if only deletions are allowed, an item of the center outside a record is deleted from all.
    """
    common = block.centers @ block.X.T
    missing: Floats = block.centers.sum(1)[:, None] - common
    extra: Floats = block.X.sum(1) - common
    if block.operations == "additions":
        extra *= block.k
    elif block.operations == "deletions":
        missing *= block.k
    return missing + extra


def _labels_with_new_group(block: Block, change: Floats, slot: int) -> Ints:
    """Labels after moving the cheapest records to `slot`; every group keeps k users."""
    group, n_records = block.group.copy(), block.records_of_user.copy()
    n_users = np.count_nonzero(n_records, axis=1)
    for i in np.argsort(change, kind="stable").tolist():
        u, g = block.users[i], group[i]
        if change[i] == np.inf or (n_users[slot] >= block.k and change[i] >= 0):
            break
        is_sole = n_records[g, u] == 1
        # A second record of a user adds no user to the new group.
        if (is_sole and g > 0 and n_users[g] <= block.k) or (n_records[slot, u] and change[i] >= 0):
            continue
        n_records[g, u] -= 1
        n_users[g] -= is_sole
        n_users[slot] += n_records[slot, u] == 0
        n_records[slot, u] += 1
        group[i] = slot
    return group if n_users[slot] >= block.k else block.group


def _apply_if_cheaper(block: Block, group: Ints) -> bool:
    """Assign new labels if they lower the cost; otherwise restore the block."""
    old_cost, old_group = block.cost, block.group
    if (group == old_group).all():
        return False
    block.group = group
    block.update()
    if block.cost < old_cost:
        return True
    block.group = old_group
    block.update()
    return False
