"""Chains and prices: exact accounts, k users in every group, never a higher cost."""

from itertools import product

import numpy as np
import pytest
from support.groupings import feasible_groupings
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core import anonymize
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve import open_groups as opening
from setanon_core.grouping.improve import reprice as module
from setanon_core.grouping.improve.arcs import NEAREST, REACH, near_arcs
from setanon_core.grouping.improve.assignment import Assignment, Move
from setanon_core.grouping.improve.chains import apply_chains
from setanon_core.grouping.improve.mix import mix
from setanon_core.grouping.improve.open_groups import open_groups
from setanon_core.grouping.improve.prices import close_groups
from setanon_core.grouping.improve.reassign import savings
from setanon_core.grouping.improve.reprice import reprice
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params


def state_of(records, rows, centers, params):
    arcs = near_arcs(records, rows, centers, params)
    return Assignment(records, rows, arcs.saving, len(centers), params.k), arcs


def fixed_cost(records, nodes, centers):
    """Cost of an assignment to fixed centers; the last node is withdrawal."""
    masks = [*centers.bitmasks(), 0]
    return sum(
        (mask ^ masks[node]).bit_count()
        for mask, node in zip(records.bitmasks(), nodes, strict=True)
    )


def instances(count):
    """Groupings under `both` and `deletions`, with the row and the center of each group."""
    for records, labels, params in feasible_groupings(count):
        if params.operations != "additions":
            rows, centers = flip(records, labels, params.operations)
            if len(centers):
                yield records, rows, centers, params


def check_users(records, labels, k):
    assert fewest_users(records, labels.tolist()) in {None, *range(k, len(records) + 1)}


def test_two_full_groups_exchange_records_by_a_cycle():
    records = Records.from_sets([{1, 2}, {1, 2}, {3, 4}, {3, 4}, {3, 4}, {1, 2}])
    params = Params(3, min_owners=0)
    rows, centers = np.array([0, 0, 0, 1, 1, 1]), Sets(np.array([0, 1, 2, 3]), np.array([0, 2, 4]))
    state, arcs = state_of(records, rows, centers, params)
    apply_chains(state, arcs)
    assert state.labels.tolist() == [0, 0, 1, 1, 1, 0]
    assert state.gain == 8


def test_a_withdrawn_record_replaces_one_that_leaves_a_full_group():
    records = Records.from_sets([{1}, {1}, {1}, {1, 2}, {1, 2}])
    centers = Sets(np.array([0, 0, 1]), np.array([0, 1, 3]))
    rows = np.array([0, WITHDRAWN, 1, 1, 0])
    state, arcs = state_of(records, rows, centers, Params(2, min_owners=0))
    apply_chains(state, arcs)
    assert state.labels.tolist() == [0, 0, 0, 1, 1]


def test_chains_reach_the_best_assignment_to_fixed_centers_on_most_small_instances():
    rng, best_found, trials = np.random.default_rng(3), 0, 40
    for trial in range(trials):
        users = 4 if trial % 3 == 0 else None
        records = random_records(rng, 7, 5, users)
        params = Params(2, min_owners=0, operations=("both", "deletions")[trial % 2])
        labels = np.array([0, 0, 0, 1, 1, 1, 1])
        if min(len(set(records.users[labels == g])) for g in (0, 1)) < params.k:
            labels[:] = 0
        rows, centers = flip(records, labels, params.operations)
        if not len(centers):
            continue
        state, arcs = state_of(records, rows, centers, params)
        apply_chains(state, arcs)
        check_users(records, state.labels, params.k)
        cost, n = fixed_cost(records, state.node, centers), len(centers)
        costs = []
        for nodes in product(range(n + 1), repeat=len(records)):
            sets = [records.bitmasks()[i] for i in range(len(records))]
            allowed = params.operations == "both" or all(
                node == n or not centers.bitmasks()[node] & ~mask
                for node, mask in zip(nodes, sets, strict=True)
            )
            # Chains neither open nor close a group.
            users_of = [
                {u for u, node in zip(records.users.tolist(), nodes, strict=True) if node == g}
                for g in range(n)
            ]
            if allowed and all(len(owners) >= params.k for owners in users_of):
                costs.append(fixed_cost(records, nodes, centers))
        assert cost >= min(costs)
        best_found += cost == min(costs)
    assert best_found > 0.6 * trials


def test_arcs_have_the_exact_savings_of_the_nearest_centers():
    for records, rows, centers, params in instances(60):
        arcs = near_arcs(records, rows, centers, params)
        masks, center_masks = records.bitmasks(), centers.bitmasks()
        for i, s in enumerate(arcs.ranks.tolist()):
            part = slice(arcs.offsets[s], arcs.offsets[s + 1])
            nodes, values = arcs.center[part].tolist(), arcs.center_saving[part].tolist()
            assert len(nodes) <= NEAREST + 1
            assert values == sorted(values, reverse=True)
            assert len(centers) in nodes
            for node, value in zip(nodes, values, strict=True):
                center = 0 if node == len(centers) else center_masks[node]
                assert value == masks[i].bit_count() - (masks[i] ^ center).bit_count()
                assert params.operations == "both" or not center & ~masks[i]


def test_pairs_are_counted_for_each_of_the_rarest_items():
    for records, rows, centers, params in instances(60):
        first, _, ranks = records.distinct
        saved, center_masks = savings(records, rows, centers), centers.bitmasks()
        expected = 0
        for s, mask in enumerate(records.take(first).bitmasks()):
            holding = [
                sum(center >> item & 1 for center in center_masks)
                for item in range(records.width)
                if mask >> item & 1
            ]
            limit = len(holding) - int(saved[ranks == s].min()) + REACH + 1
            expected += sum(sorted(holding)[:limit])
        assert near_arcs(records, rows, centers, params).pairs == expected


def test_no_round_begins_after_too_many_pairs(monkeypatch):
    records = random_records(np.random.default_rng(4), 300, 9)
    params = Params(5, min_owners=0)
    start = open_itemsets(records, params).labels
    compared = []

    def count(*arguments):
        arcs = near_arcs(*arguments)
        compared.append(arcs.pairs)
        return arcs

    monkeypatch.setattr(module, "near_arcs", count)
    monkeypatch.setattr(module, "FIRST_WORTHWHILE", 10**9)
    reprice(records, start, params)
    rounds, pairs = len(compared), compared[0]
    compared.clear()
    monkeypatch.setattr(module, "PAIRS_LIMIT", pairs)
    after = reprice(records, start, params)
    assert len(compared) == 1 < rounds
    check_users(records, after, params.k)


@pytest.mark.parametrize("step", ["chains", "close", "open"])
def test_gains_are_exact_and_every_group_keeps_k_users(step, monkeypatch):
    monkeypatch.setattr(opening, "REFRESH", 2)
    total = 0
    for records, rows, centers, params in instances(150):
        state, arcs = state_of(records, rows, centers, params)
        before = int(savings(records, rows, centers).sum())
        if step == "chains":
            apply_chains(state, arcs)
            assert fixed_cost(records, np.where(rows < 0, len(centers), rows), centers) - (
                state.gain
            ) == fixed_cost(records, state.node, centers)
        elif step == "close":
            close_groups(state, arcs, 0)
        else:
            open_groups(records, state, arcs, params, 0)
        assert int(state.saving.sum()) == before + state.gain
        assert step == "open" or state.gain >= 0
        check_users(records, state.labels, params.k)
        total += state.gain
        # Majority centers save at least as much as the fixed centers.
        cost = grouping_cost(records, state.labels.tolist(), params.operations)
        assert cost <= len(records.items) - before - state.gain
    assert total > 0


def test_undone_moves_restore_the_assignment():
    for records, rows, centers, params in instances(30):
        state, _ = state_of(records, rows, centers, params)
        before = state.node.copy(), state.saving.copy(), state.n_users.copy(), state.gain
        members = [set(part) for part in state.members]
        rng = np.random.default_rng(0)
        mark = state.mark()
        for i in rng.integers(0, len(records), 20).tolist():
            state.move(Move(i, int(rng.integers(0, state.n_nodes)), int(rng.integers(0, 5))))
        state.undo(mark)
        after = state.node, state.saving, state.n_users, state.gain
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
        assert members == state.members


def test_mixed_groupings_take_the_cheaper_groups_of_each_part():
    records = Records.from_sets([{1, 2}, {1, 2}, {3}, {3}, {5, 6}, {5, 6}, {7}, {7}])
    first, second = np.array([0, 0, 1, 1, 2, 2, 2, 2]), np.array([0, 0, 0, 0, 1, 1, 2, 2])
    mixed = mix(records, first, second, Params(2, min_owners=0))
    assert grouping_cost(records, mixed.tolist(), "both") == 0
    assert mix(records, first, mixed, Params(2)) is mixed


def test_mixed_groupings_cost_at_most_as_much_as_either():
    for records, labels, params in feasible_groupings(120):
        other = open_itemsets(records, params).labels
        costs = [grouping_cost(records, each, params.operations) for each in (labels, other)]
        mixed = mix(records, labels, other, params)
        assert grouping_cost(records, mixed, params.operations) <= min(costs)
        check_users(records, mixed, params.k)


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_cost_never_rises_and_every_group_keeps_k_users(rounds, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "ROUNDS", rounds)
    monkeypatch.setattr(module, "FIRST_WORTHWHILE", 10**9)
    gain = 0
    for records, labels, params in feasible_groupings(150):
        after = reprice(records, labels, params)
        before, cost = (
            grouping_cost(records, each.tolist(), params.operations) for each in (labels, after)
        )
        assert cost <= before
        gain += before - cost
        check_users(records, after, params.k)
        assert np.array_equal(after, reprice(records, labels, params))
    assert gain > 0


def test_baskets_gain_and_the_order_of_the_input_does_not_matter():
    rng = np.random.default_rng(5)
    popularity = 0.5 / np.arange(1, 31)
    sets = [np.flatnonzero(rng.random(30) < popularity).tolist() or [0] for _ in range(700)]
    result = anonymize(sets, k=5, min_owners=0)
    costs = {round_.name: round_.cost.total for round_ in result.rounds}
    assert costs["reprice"] < 0.99 * costs["local_search"]
    order = rng.permutation(700)
    shuffled = anonymize([sets[i] for i in order], k=5, min_owners=0)
    # Of equal records, any may be in one of several groups.
    published = [
        sorted((sorted(before), sorted(after or ())) for before, after in zip(*pairs, strict=True))
        for pairs in ((sets, result.records), ([sets[i] for i in order], shuffled.records))
    ]
    assert published[0] == published[1]


def test_small_inputs_and_additions_are_left_to_the_other_steps():
    records = random_records(np.random.default_rng(1), 300, 6)
    labels = np.zeros(300, np.int64)
    assert reprice(records, labels, Params(2, operations="additions")) is labels
    few, few_labels = records.subset(np.arange(100)), np.zeros(100, np.int64)
    assert reprice(few, few_labels, Params(2)) is few_labels


def test_groups_that_chains_hardly_improve_are_returned_unchanged(monkeypatch):
    records = Records.from_sets([{i // 4} for i in range(400)])
    labels = np.arange(400) // 4
    assert reprice(records, labels, Params(3, min_owners=0)) is labels
    monkeypatch.setattr(module, "FIRST_WORTHWHILE", 1)
    baskets = random_records(np.random.default_rng(2), 300, 9)
    start = open_itemsets(baskets, Params(5, min_owners=0)).labels
    assert reprice(baskets, start, Params(5, min_owners=0)) is start
