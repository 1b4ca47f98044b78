"""The exact grouper against brute force, and its integer program against its dynamic program."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from support.oracles import best_partition_cost, fewest_users, grouping_cost, random_records
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import exact as module
from setanon_core.grouping.starts.exact import SUBSETS_LIMIT, exact, optimum
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


@settings(max_examples=100, deadline=None)
@given(records(), params())
def test_the_dynamic_program_finds_the_brute_force_optimum(data: Records, drawn: Params) -> None:
    masks, users = data.bitmasks(), data.users.tolist()
    for withdrawals in (True, False):
        cost, labels = optimum(data, drawn, withdrawals=withdrawals)
        assert cost == best_partition_cost(
            masks, users, drawn.k, drawn.operations, withdrawals=withdrawals
        )
        assert grouping_cost(data, labels.tolist(), drawn.operations) == cost
        assert (fewest_users(data, labels.tolist()) or drawn.k) >= drawn.k


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 6])
def test_the_integer_program_agrees_with_the_dynamic_program(
    operations: str, users: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    for n, k in ((9, 4), (10, 2), (11, 3), (13, 2), (12, 4)):
        data = random_records(rng, n, 6, users)
        cost, _ = optimum(data, Params(k=k, operations=operations))
        with monkeypatch.context() as patch:
            patch.setattr(module, "SUBSETS_LIMIT", 0)
            grouping = exact(data, Params(k=k, operations=operations))
        assert grouping.proven_optimal
        assert grouping_cost(data, grouping.labels.tolist(), operations) == cost
        assert (fewest_users(data, grouping.labels.tolist()) or k) >= k


@pytest.mark.parametrize("operations", OPERATIONS)
def test_an_incomplete_enumeration_is_never_reported_as_proven(
    operations: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CENTERS_LIMIT", 4)
    data = random_records(np.random.default_rng(3), 20, 8)
    grouping = exact(data, Params(k=3, operations=operations))
    assert not grouping.proven_optimal
    assert grouping.notes == (module.CUT_OFF,)
    assert (fewest_users(data, grouping.labels.tolist()) or 3) >= 3


def test_a_program_without_time_is_never_reported_as_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "EXACT_SECONDS", 0.0)
    data = random_records(np.random.default_rng(4), 40, 9)
    grouping = exact(data, Params(k=3))
    assert not grouping.proven_optimal
    assert grouping.notes == (module.STOPPED,)
    assert grouping_cost(data, grouping.labels.tolist(), "both") < len(data.items)
    assert (fewest_users(data, grouping.labels.tolist()) or 3) >= 3


@pytest.mark.parametrize("operations", OPERATIONS)
def test_with_too_few_users_everything_is_withdrawn(operations: str) -> None:
    for n in (0, 1, 30):
        data = Records.from_sets([{1, 2}] * n, ["same"] * n)
        grouping = exact(data, Params(k=2, operations=operations))
        assert grouping.proven_optimal
        assert (grouping.labels == WITHDRAWN).all()


def test_without_a_common_item_everything_is_withdrawn() -> None:
    grouping = exact(Records.from_sets([{i} for i in range(20)]), Params(k=3))
    assert grouping.proven_optimal
    assert (grouping.labels == WITHDRAWN).all()


def test_the_largest_dynamic_program_takes_less_than_a_second() -> None:
    data = random_records(np.random.default_rng(7), SUBSETS_LIMIT, 8)
    optimum(data, Params(k=5))  # fills the cached tables
    start = time.perf_counter()
    optimum(data, Params(k=5))
    assert time.perf_counter() - start < 1
