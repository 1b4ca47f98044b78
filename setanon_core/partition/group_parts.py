"""Steps that need all members of a group, in parts of complete groups.

Guarantee:  equal to the same step on all records at once: groups do not affect each other.
Complexity: that of the steps; 64-bit columns exist for one part at a time.
"""

from typing import NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.narrow import narrow_column, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip_cost, group_centers, merged_rows
from setanon_core.grouping.improve.reassign import make_moves, savings
from setanon_core.model.groups import WITHDRAWN, Cost
from setanon_core.params import Operations
from setanon_core.partition.parts import complete_groups, concat_sets, ranges
from setanon_core.partition.visits import spare_records


class FlippedGroups(NamedTuple):
    """Groups with their centers."""

    rows: Ints
    """For each record the row of its center, or `WITHDRAWN`."""

    centers: Sets
    saving: Ints
    """What each record saves at its center against withdrawal."""


def flip_in_parts(records: Records, labels: Ints, operations: Operations) -> FlippedGroups:
    """The centers of `flip`, and the savings at them."""
    groups, saving = narrow_column(len(labels), WITHDRAWN), narrow_column(len(labels), 0)
    parts: list[Sets] = []
    next_group = 0
    for part in complete_groups(labels):
        members = records.subset(part)
        numbers, centers = group_centers(members, labels[part], operations)
        saving[part] = savings(members, numbers, centers)
        groups[part] = next_group + numbers
        next_group += len(centers)
        items = centers.items.astype(np.int32)
        parts.append(Sets.unchecked(items=items, offsets=centers.offsets))
    row_of_group, merged = merged_rows(concat_sets(parts))
    for records_range in ranges(len(groups)):
        groups[records_range] = row_of_group[groups[records_range]]
    return FlippedGroups(groups, merged, saving)


def flip_cost_in_parts(sets: Sets, labels: Ints, operations: Operations, surplus: Bools) -> Cost:
    """`flip_cost` of the records that are not surplus; these are not in a group."""
    cost = _withdrawal_cost(sets, (labels == WITHDRAWN) & ~surplus)
    for part in complete_groups(labels):
        cost = _add(cost, flip_cost(sets.take(part), labels[part], operations))
    return cost


def cost_in_parts(sets: Sets, rows: Ints, centers: Sets) -> Cost:
    """`cost_of` for these centers."""
    cost = _withdrawal_cost(sets, rows == WITHDRAWN)
    for part in complete_groups(rows):
        groups, numbers = np.unique(rows[part], return_inverse=True)
        cost = _add(cost, cost_of(sets.take(part), numbers, centers.take(groups)))
    return cost


def _withdrawal_cost(sets: Sets, withdrawn: Bools) -> Cost:
    return Cost(0, int(sets.sizes[withdrawn].sum()), int(withdrawn.sum()))


def _add(cost: Cost, other: Cost) -> Cost:
    return Cost(
        cost.additions + other.additions,
        cost.deletions + other.deletions,
        cost.withdrawals + other.withdrawals,
    )


def make_moves_in_parts(records: Records, rows: Ints, target: Ints, gain: Ints, k: int) -> Ints:
    """`make_moves`; `rows` itself if no move lowers the cost."""
    # A withdrawn record can always leave.
    moved: Ints = np.where((rows == WITHDRAWN) & (gain > 0), target, rows)
    for part in complete_groups(rows):
        changed = make_moves(records.subset(part), widen(rows[part]), target[part], gain[part], k)
        if changed is not None:
            moved[part] = changed
    return moved


def spare_in_parts(records: Records, rows: Ints, wanted: Bools, gain: Ints, k: int) -> Bools:
    """`spare_records`."""
    spare: Bools = wanted & (rows == WITHDRAWN)
    for part in complete_groups(rows):
        if wanted[part].any():
            spare[part] = spare_records(
                records.subset(part), widen(rows[part]), wanted[part], gain[part], k
            )
    return spare


def count_small_groups(rows: Ints, users: Ints, k: int) -> int:
    """Number of groups of fewer than k users."""
    small = 0
    for part in complete_groups(rows):
        groups = widen(rows[part])
        _, n_users = user_ranks(groups, widen(users[part]))
        small += len(np.unique(groups[n_users < k]))
    return small
