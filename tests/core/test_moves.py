"""The moves of the local search: each reports correctly whether the cost fell."""

import numpy as np
import pytest
from support.blocks import random_blocks
from support.oracles import fewest_users, grouping_cost

from setanon_core.columns.records import Records
from setanon_core.grouping.improve.block import block_of
from setanon_core.grouping.improve.moves import MOVES, descend
from setanon_core.params import OPERATIONS


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("move", MOVES)
def test_a_move_returns_whether_the_cost_fell_and_every_group_keeps_k_users(operations, move):
    improvements = 0
    for block, records, labels in random_blocks(operations, 80, 30):
        before = grouping_cost(records, labels.tolist(), operations)
        improved = move(block)
        new_labels = block.group - 1
        after = grouping_cost(records, new_labels.tolist(), operations)
        assert (after < before) is improved
        assert improved or (new_labels == labels).all() or after == before
        assert (fewest_users(records, new_labels.tolist()) or block.k) >= block.k
        assert block.cost == after - (len(records.items) - int(block.X.sum()))
        improvements += improved
    assert improvements


@pytest.mark.parametrize("operations", OPERATIONS)
def test_after_descending_no_single_move_and_no_swap_lowers_the_cost(operations):
    for block, records, _ in random_blocks(operations, 40):
        descend(block)
        cost = grouping_cost(records, (block.group - 1).tolist(), operations)
        n = len(block.group)
        groups = [g for g in range(block.slots) if g == 0 or block.size[g] > 0]
        changes = [{i: g} for i in range(n) for g in groups]
        changes += [{i: block.group[j], j: block.group[i]} for i in range(n) for j in range(i)]
        for change in changes:
            labels = block.group - 1
            labels[list(change)] = np.array(list(change.values())) - 1
            has_k_users = (fewest_users(records, labels.tolist()) or block.k) >= block.k
            if has_k_users and not (operations == "additions" and (labels < 0).any()):
                assert grouping_cost(records, labels.tolist(), operations) >= cost


@pytest.mark.parametrize("operations", OPERATIONS)
def test_empty_and_equal_records_are_accepted(operations):
    for sets in ([set()] * 4, [{1}] * 5, [{1}, set(), {1}, set()]):
        records = Records.from_sets(sets)
        block = block_of(records, np.zeros(len(sets), np.int64), 2, operations)
        descend(block)
        assert (fewest_users(records, (block.group - 1).tolist()) or 2) >= 2


def test_records_of_one_user_are_swapped_if_that_lowers_the_cost():
    records = Records.from_sets([{1}, {2}, {2}, {1}], [0, 1, 0, 1])
    block = block_of(records, np.array([0, 0, 1, 1]), 2, "both")
    descend(block)
    assert block.cost == 0
    groups = {tuple(np.flatnonzero(block.group == g).tolist()) for g in block.group.tolist()}
    assert groups == {(0, 3), (1, 2)}
