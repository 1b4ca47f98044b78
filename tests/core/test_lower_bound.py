"""Lower bounds never exceed the optimum."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from support.oracles import best_partition_cost, random_records
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.bounds import lower_bound as module
from setanon_core.grouping.bounds import nearest
from setanon_core.grouping.bounds.lower_bound import (
    METRICS,
    configuration_bound,
    lower_bound,
    nearest_bound,
)
from setanon_core.grouping.bounds.metric import HAMMING
from setanon_core.grouping.starts.configurations import SCALE
from setanon_core.grouping.starts.exact import optimum
from setanon_core.grouping.strip import strip
from setanon_core.params import OPERATIONS, Params
from setanon_core.partition.bound_parts import bound_in_parts


@settings(max_examples=60, deadline=None)
@given(records(max_records=6), params())
def test_the_bound_never_exceeds_the_brute_force_optimum(data: Records, drawn: Params) -> None:
    best = best_partition_cost(data.bitmasks(), data.users.tolist(), drawn.k, drawn.operations)
    assert lower_bound(data, drawn) <= best


@pytest.mark.parametrize("operations", OPERATIONS)
def test_no_bound_exceeds_the_optimum_and_the_configuration_bound_is_often_tight(
    operations: str,
) -> None:
    rng = np.random.default_rng(8)
    tight, trials = 0, 40
    for trial in range(trials):
        n, k = int(rng.integers(1, 10)), int(rng.integers(2, 5))
        users = None if trial % 2 else int(rng.integers(2, 8))
        data = random_records(rng, n, int(rng.integers(2, 7)), users)
        best, _ = optimum(data, Params(k=k, operations=operations))
        by_configurations = configuration_bound(data, Params(k=k, operations=operations))
        assert by_configurations <= best
        assert nearest_bound(data, Params(k=k, operations=operations)) <= best
        assert lower_bound(data, Params(k=k, operations=operations)) <= best
        tight += by_configurations == best
    assert tight > 0.75 * trials


@pytest.mark.parametrize("operations", OPERATIONS)
def test_no_weighted_bound_exceeds_the_optimum_of_a_thousand_instances(
    operations: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(12)
    best_metrics = set()
    for trial in range(340):  # and for each of the operations
        n, k = int(rng.integers(2, 8)), int(rng.integers(2, 5))
        users = None if trial % 2 else int(rng.integers(2, 7))
        data = random_records(rng, n, int(rng.integers(2, 8)), users)
        drawn = Params(k, operations=operations, min_owners=int(rng.integers(0, k + 1)))
        kept = strip(data, drawn).records
        best = best_partition_cost(kept.bitmasks(), kept.users.tolist(), k, operations)
        bounds = []
        for metric in METRICS[drawn.operations]:
            monkeypatch.setattr(module, "METRICS", {operations: (metric,)})
            for pairs_limit in (0, 1500):
                monkeypatch.setattr(nearest, "PAIRS_LIMIT", pairs_limit)
                bounds.append(nearest_bound(kept, drawn))
                assert bounds[-1] <= best
            assert bound_in_parts(kept, drawn, 2) <= best
        best_metrics.add(int(np.argmax(bounds)) // 2)
    assert len(best_metrics) > 1


def test_a_weighted_bound_exceeds_that_of_the_hamming_distance() -> None:
    # Every large set must lose most of its items; half of its distance to {1} would be charged to
    # {1}, which costs nothing.
    sets = [{1, 10 + i, 20 + i, 30 + i} for i in range(6)] + [{1}] * 6
    data, drawn = Records.from_sets(sets), Params(2, min_owners=0)
    assert module._sum_of_terms(data, drawn, HAMMING) == 9 * SCALE  # noqa: SLF001
    assert nearest_bound(data, drawn) == 18


def test_a_large_log_is_bounded_by_the_best_metric_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, drawn = random_records(np.random.default_rng(13), 400, 60), Params(3)
    bounds = {metric: module._sum_of_terms(data, drawn, metric) for metric in METRICS["both"]}  # noqa: SLF001
    assert module.promising_metrics(data, drawn) == METRICS["both"]
    monkeypatch.setattr(module, "SAMPLE_FROM", 100)
    assert module.promising_metrics(data, drawn) == (max(bounds, key=bounds.__getitem__),)
    few_users = Records.from_sets([{i} for i in range(1, 200)], ["a", "b", "c"] * 66 + ["a"])
    assert nearest_bound(few_users, drawn) <= 199


def test_the_bound_is_half_of_the_mean_distance_rounded_up() -> None:
    # {1}, {1}, {1, 2} and k = 3: half of the distance to the second neighbour would be too high.
    assert lower_bound(Records.from_sets([{1}, {1}, {1, 2}]), Params(k=3)) == 1


def test_records_of_the_same_user_do_not_count_as_other_users() -> None:
    sets = [{1, 2}, {1, 2}, {1, 3}, {1, 3}]
    assert lower_bound(Records.from_sets(sets), Params(k=2)) == 0
    assert nearest_bound(Records.from_sets(sets, "aabb"), Params(k=2)) == 2
    assert 2 < lower_bound(Records.from_sets(sets, "aabb"), Params(k=2)) <= 4


def test_an_incomplete_enumeration_gives_no_configuration_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = random_records(np.random.default_rng(10), 30, 8)
    assert configuration_bound(data, Params(k=3)) > 0
    monkeypatch.setattr(module, "CENTERS_LIMIT", 5)
    assert configuration_bound(data, Params(k=3)) == 0
    assert lower_bound(data, Params(k=3)) >= nearest_bound(data, Params(k=3))


def test_all_occurrences_of_rare_items_are_counted() -> None:
    sets = [{1, 10 + i} for i in range(6)]
    assert lower_bound(Records.from_sets(sets), Params(k=4)) == 6
    assert lower_bound(Records.from_sets(sets), Params(k=4, operations="deletions")) == 6


@pytest.mark.parametrize("users", [None, 100])
def test_fifty_thousand_copies_take_less_than_two_seconds(users: int | None) -> None:
    user_of = None if users is None else [i % users for i in range(50_000)]
    data = Records.from_sets([{1, 2, 3}] * 50_000, user_of)
    start = time.perf_counter()
    assert lower_bound(data, Params(k=5)) == 0
    assert time.perf_counter() - start < 2


def test_long_records_among_many_take_less_than_five_seconds() -> None:
    rng = np.random.default_rng(11)
    sets = [set(rng.integers(0, 400, 200).tolist()) for _ in range(40)]
    sets += [{int(rng.integers(0, 400))} for _ in range(2000)]
    start = time.perf_counter()
    assert lower_bound(Records.from_sets(sets), Params(k=5)) > 0
    assert time.perf_counter() - start < 5
