"""Lower bounds against optima, and the quick counts of neighbours against slow ones."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from support.oracles import best_partition_cost, random_records
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.bounds import distances, nearest
from setanon_core.grouping.bounds import lower_bound as lower_bound_module
from setanon_core.grouping.bounds.lower_bound import configuration_bound, lower_bound, nearest_bound
from setanon_core.grouping.starts.exact import optimum
from setanon_core.params import OPERATIONS, Params


@settings(max_examples=150, deadline=None)
@given(records(max_records=6), params())
def test_the_bound_never_exceeds_the_brute_force_optimum(data: Records, asked: Params) -> None:
    best = best_partition_cost(data.bitmasks(), data.users.tolist(), asked.k, asked.operations)
    assert lower_bound(data, asked) <= best


@pytest.mark.parametrize("operations", OPERATIONS)
def test_no_bound_exceeds_the_optimum(operations: str) -> None:
    rng = np.random.default_rng(8)
    tight = 0
    for trial in range(400):
        n, k = int(rng.integers(1, 10)), int(rng.integers(2, 5))
        users = None if trial % 2 else int(rng.integers(2, 8))
        data = random_records(rng, n, int(rng.integers(2, 7)), users)
        asked = Params(k=k, operations=operations)
        best, _ = optimum(data, asked)
        linear = configuration_bound(data, asked)
        assert nearest_bound(data, asked) <= best
        assert linear <= best
        assert lower_bound(data, asked) <= best
        tight += linear == best
    assert tight > 300


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 25])
def test_counting_through_subsets_agrees_with_counting_pairs(
    operations: str, users: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(9)
    for subsets, long in ((10**6, 10**6), (100, 10**6), (100, 300)):
        data = random_records(rng, 60, 9, users)
        asked = Params(k=4, operations=operations)
        by_pairs = nearest_bound(data, asked)
        with monkeypatch.context() as patch:
            patch.setattr(nearest, "PAIRS_LIMIT", 0)
            patch.setattr(distances, "SUBSETS_BUDGET", subsets)
            patch.setattr(distances, "SUBSETS_PER_SET", 0)
            patch.setattr(distances, "LONG_BUDGET", long)
            patch.setattr(distances, "OVERLAPS_AT_ONCE", 500)
            patch.setattr(distances, "SETS_AT_ONCE", 7)
            by_subsets = nearest_bound(data, asked)
        assert by_subsets <= by_pairs
        if users is None and subsets == 10**6:
            assert by_subsets == by_pairs


def test_the_nearest_others_set_the_bound() -> None:
    # {x, x, y} with d(x, y) = 1 and k = 3: half the distance to the second neighbour is too much.
    assert lower_bound(Records.from_sets([{1}, {1}, {1, 2}]), Params(k=3)) == 1


def test_records_of_the_same_user_do_not_count_as_others() -> None:
    sets = [{1, 2}, {1, 2}, {1, 3}, {1, 3}]
    asked = Params(k=2, operations="both")
    assert lower_bound(Records.from_sets(sets), asked) == 0
    assert nearest_bound(Records.from_sets(sets, "aabb"), asked) == 2
    assert 2 < lower_bound(Records.from_sets(sets, "aabb"), asked) <= 4


def test_a_cut_off_enumeration_bounds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_records(np.random.default_rng(10), 30, 8)
    asked = Params(k=3)
    assert configuration_bound(data, asked) > 0
    monkeypatch.setattr(lower_bound_module, "CENTERS_LIMIT", 5)
    assert configuration_bound(data, asked) == 0
    assert lower_bound(data, asked) >= nearest_bound(data, asked)


def test_rare_items_are_paid_for_in_full() -> None:
    sets = [{1, 10 + i} for i in range(6)]
    assert lower_bound(Records.from_sets(sets), Params(k=4)) == 6
    assert lower_bound(Records.from_sets(sets), Params(k=4, operations="deletions")) == 6


@pytest.mark.parametrize("users", [None, 100])
def test_fifty_thousand_copies_are_no_work(users: int | None) -> None:
    owners = None if users is None else [i % users for i in range(50_000)]
    data = Records.from_sets([{1, 2, 3}] * 50_000, owners)
    start = time.perf_counter()
    assert lower_bound(data, Params(k=5)) == 0
    assert time.perf_counter() - start < 2


def test_long_records_do_not_explode() -> None:
    rng = np.random.default_rng(11)
    sets = [set(rng.integers(0, 400, 200).tolist()) for _ in range(40)]
    sets += [{int(rng.integers(0, 400))} for _ in range(2000)]
    start = time.perf_counter()
    assert lower_bound(Records.from_sets(sets), Params(k=5)) > 0
    assert time.perf_counter() - start < 5


def test_a_few_very_long_records_among_many_neither_warn_nor_widen_the_rest() -> None:
    rng = np.random.default_rng(4)
    sets = [rng.choice(9000, 20, replace=False).tolist() for _ in range(2000)]
    sets += [rng.choice(9000, 3000, replace=False).tolist() for _ in range(3)]
    data = Records.from_sets(sets)
    widest = 0
    for around in nearest.neighbours(data, "both"):
        widest = max(widest, around.nearest.size)
    assert 0 < nearest_bound(data, Params(k=3)) <= len(data.items)
    assert widest < 200_000  # 2,003 rows of 6,001 columns would be twelve million
