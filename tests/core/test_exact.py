"""The exact grouper against brute force, and its integer program against the subsets."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from support.oracles import best_partition_cost, fewest_users, grouping_cost, random_records
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import exact as module
from setanon_core.grouping.starts.cooccurrence import (
    FAR,
    centers_of,
    cheapest_groups,
    members_of_cheapest,
)
from setanon_core.grouping.starts.exact import SUBSETS_LIMIT, exact, optimum
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


@settings(max_examples=200, deadline=None)
@given(records(), params())
def test_the_subsets_find_the_brute_force_optimum(data: Records, asked: Params) -> None:
    masks, users = data.bitmasks(), data.users.tolist()
    for withdrawals in (True, False):
        cost, labels = optimum(data, asked, withdrawals=withdrawals)
        assert cost == best_partition_cost(
            masks, users, asked.k, asked.operations, withdrawals=withdrawals
        )
        assert grouping_cost(data, labels.tolist(), asked.operations) == cost
        assert (fewest_users(data, labels.tolist()) or asked.k) >= asked.k


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 6])
def test_the_integer_program_agrees_with_the_subsets(
    operations: str, users: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    for n in (9, 10, 11, 12, 13):
        for k in (2, 3, 4):
            data = random_records(rng, n, 6, users)
            asked = Params(k=k, operations=operations)
            cost, _ = optimum(data, asked)
            monkeypatch.setattr(module, "SUBSETS_LIMIT", 0)
            grouping = exact(data, asked)
            monkeypatch.setattr(module, "SUBSETS_LIMIT", SUBSETS_LIMIT)
            assert grouping.proven_optimal
            assert grouping_cost(data, grouping.labels.tolist(), operations) == cost
            assert (fewest_users(data, grouping.labels.tolist()) or k) >= k


@pytest.mark.parametrize("operations", OPERATIONS)
def test_an_enumeration_cut_off_is_never_called_a_proof(
    operations: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CENTERS_LIMIT", 4)
    data = random_records(np.random.default_rng(3), 20, 8)
    grouping = exact(data, Params(k=3, operations=operations))
    assert not grouping.proven_optimal
    assert grouping.notes == (module.CUT_OFF,)
    assert (fewest_users(data, grouping.labels.tolist()) or 3) >= 3


def test_a_program_stopped_early_is_never_called_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXACT_SECONDS", 0.0)
    data = random_records(np.random.default_rng(4), 40, 9)
    grouping = exact(data, Params(k=3))
    assert not grouping.proven_optimal
    assert grouping.notes == (module.STOPPED,)
    assert grouping_cost(data, grouping.labels.tolist(), "both") < len(data.items)
    assert (fewest_users(data, grouping.labels.tolist()) or 3) >= 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_too_few_users_withdraw_everything(operations: str) -> None:
    for n in (0, 1, 30):
        data = Records.from_sets([{1, 2}] * n, ["same"] * n)
        grouping = exact(data, Params(k=2, operations=operations))
        assert grouping.proven_optimal
        assert (grouping.labels == WITHDRAWN).all()


def test_without_a_common_item_everything_is_withdrawn() -> None:
    grouping = exact(Records.from_sets([{i} for i in range(20)]), Params(k=3))
    assert grouping.proven_optimal
    assert (grouping.labels == WITHDRAWN).all()


def test_every_majority_center_is_enumerated() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        k = int(rng.integers(2, 5))
        data = random_records(rng, 15, 6, users=10)
        centers = centers_of(data, Params(k=k), 3000)
        assert centers.complete
        known = {row.tobytes() for row in centers.distances}
        group = rng.choice(15, int(rng.integers(k, 2 * k + 1)), replace=False).tolist()
        if len(set(data.users[group].tolist())) < k:
            continue
        masks = data.bitmasks()
        center = sum(
            1 << e for e in range(6) if 2 * sum(masks[i] >> e & 1 for i in group) > len(group)
        )
        distances = np.asarray([(mask ^ center).bit_count() for mask in masks])
        assert center == 0 or distances.tobytes() in known


def test_the_cheapest_group_of_k_users_is_found_for_any_costs() -> None:
    rng = np.random.default_rng(6)
    for _ in range(100):
        costs, users, k = rng.integers(-3, 6, (1, 7)), rng.integers(0, 4, 7), 3
        if len(np.unique(users)) < k:
            continue
        subsets = [np.flatnonzero(s >> np.arange(7) & 1) for s in range(1 << 7)]
        feasible = [s for s in subsets if len(set(users[s].tolist())) >= k]
        least = min(costs[0, s].sum() for s in feasible)
        assert cheapest_groups(costs, users, k)[0] == least
        chosen = np.flatnonzero(members_of_cheapest(costs, users, k)[0])
        assert costs[0, chosen].sum() == least
        assert len(set(users[chosen].tolist())) >= k


def test_one_direction_leaves_the_other_out_of_reach() -> None:
    data = Records.from_sets([{1}, {1, 2}, {1, 2}, {3}, {3}])
    deletions = centers_of(data, Params(k=2, operations="deletions"), 100).distances
    assert deletions.tolist() == [[0, 1, 1, FAR, FAR], [FAR, 0, 0, FAR, FAR], [FAR, FAR, FAR, 0, 0]]


def test_fourteen_records_take_a_moment() -> None:
    data = random_records(np.random.default_rng(7), SUBSETS_LIMIT, 8)
    optimum(data, Params(k=5))  # the tables are made once
    start = time.perf_counter()
    optimum(data, Params(k=5))
    assert time.perf_counter() - start < 1
