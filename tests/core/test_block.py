"""Cost changes of a block against costs computed from the definition."""

import numpy as np
import pytest
from support.blocks import random_blocks
from support.oracles import group_cost, grouping_cost

from setanon_core.columns.records import Records
from setanon_core.grouping.improve.block import block_of
from setanon_core.params import OPERATIONS


def bitmasks_of(block):
    """The rows of X as integers."""
    return [sum(1 << j for j in np.flatnonzero(row).tolist()) for row in block.X]


def cost_of_group(block, members, group):
    """Cost of a group with these members, from the definition; group 0 is withdrawal."""
    masks = bitmasks_of(block)
    masks = [masks[i] for i in members]
    if group == 0:
        return sum(mask.bit_count() for mask in masks)
    return group_cost(masks, block.operations) if masks else 0


def members_of(block, group):
    return np.flatnonzero(block.group == group).tolist()


@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_cost_of_a_block_is_the_sum_over_its_groups(operations):
    for block, records, labels in random_blocks(operations, 60):
        omitted = len(records.items) - int(block.X.sum())
        assert block.cost + omitted == grouping_cost(records, labels.tolist(), operations)
        for group in range(block.slots):
            assert block.costs[group] == cost_of_group(block, members_of(block, group), group)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_entry_costs_are_exact(operations):
    for block, _, _ in random_blocks(operations):
        for group in range(block.slots):
            members = members_of(block, group)
            for i in range(len(block.group)):
                if (group == 0 and operations == "additions") or (group > 0 and not members):
                    assert block.entry_cost[i, group] == np.inf
                else:
                    before = cost_of_group(block, members, group)
                    after = cost_of_group(block, [*members, i], group)
                    assert block.entry_cost[i, group] == after - before


@pytest.mark.parametrize("operations", OPERATIONS)
def test_exit_savings_and_may_leave_are_exact(operations):
    for block, _, _ in random_blocks(operations):
        for i, group in enumerate(block.group.tolist()):
            members = members_of(block, group)
            others = [j for j in members if j != i]
            saving = cost_of_group(block, members, group) - cost_of_group(block, others, group)
            assert block.exit_saving[i] == saving
            users = {int(block.users[j]) for j in others}
            assert block.may_leave[i] == (group == 0 or len(users) >= block.k)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_replacement_costs_are_exact_and_infinite_below_k_users(operations):
    for block, _, _ in random_blocks(operations):
        change = block.replacement_costs()
        for i, group in enumerate(block.group.tolist()):
            members = members_of(block, group)
            before = cost_of_group(block, members, group)
            for j in range(len(block.group)):
                replaced = [*(x for x in members if x != i), j]
                users = {int(block.users[x]) for x in replaced}
                if j in members or (group > 0 and len(users) < block.k):
                    assert change[i, j] == np.inf
                else:
                    assert change[i, j] == cost_of_group(block, replaced, group) - before


def test_a_record_can_be_replaced_by_another_of_the_same_user():
    # Both groups have the users 0 and 1: only a record of the same user keeps two users.
    records = Records.from_sets([{1}, {2}, {2}, {1}], [0, 1, 0, 1])
    change = block_of(records, np.array([0, 0, 1, 1]), 2, "both").replacement_costs()
    assert np.isfinite(change[0, 2])
    assert np.isinf(change[0, 3])
