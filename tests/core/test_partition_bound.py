"""The bound as a sum of parts: at most the optimum, and independent of the parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from support.oracles import best_partition_cost, random_records
from support.strategies import params, records

from setanon_core.columns.records import Records
from setanon_core.grouping.bounds.distances import table_row_of
from setanon_core.grouping.bounds.lower_bound import METRICS, nearest_bound
from setanon_core.grouping.bounds.metric import GAINED
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.params import OPERATIONS, Params
from setanon_core.partition import bound_parts as module
from setanon_core.partition.bound_parts import (
    WeightedSets,
    bound_in_parts,
    count_long,
    count_overlaps,
    count_sizes,
)


def weighted_sets(data: Records) -> WeightedSets:
    distinct = DistinctSets(data)
    return WeightedSets(distinct.sets, distinct.owners, distinct.weights)


@settings(max_examples=20, deadline=None)
@given(records(max_records=6), params())
def test_the_bound_never_exceeds_the_brute_force_optimum(data: Records, drawn: Params) -> None:
    best = best_partition_cost(data.bitmasks(), data.users.tolist(), drawn.k, drawn.operations)
    assert bound_in_parts(data, drawn, 2) <= best


@settings(max_examples=20, deadline=None)
@given(records(max_records=6), params())
def test_the_bound_with_long_sets_never_exceeds_the_optimum(data: Records, drawn: Params) -> None:
    best = best_partition_cost(data.bitmasks(), data.users.tolist(), drawn.k, drawn.operations)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT_LIMIT", 2)
        assert bound_in_parts(data, drawn, 3) <= best


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("short", [16, 3])
def test_the_number_of_parts_does_not_change_the_bound(operations, short, monkeypatch):
    monkeypatch.setattr(module, "SHORT_LIMIT", short)
    rng = np.random.default_rng(7)
    data = random_records(rng, 60, 6, 40)
    drawn = Params(3, operations=operations)
    bound = bound_in_parts(data, drawn)
    assert {bound_in_parts(data, drawn, parts) for parts in (1, 4)} == {bound}
    monkeypatch.setattr(module, "SETS_AT_ONCE", 7)
    assert bound_in_parts(data, drawn) == bound


@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_bound_of_one_record_per_user_is_that_of_the_nearest_neighbours(operations):
    rng = np.random.default_rng(8)
    positive = 0
    for _ in range(12):
        data = random_records(rng, int(rng.integers(5, 80)), 7)
        drawn = Params(int(rng.integers(2, 5)), operations=operations)
        # Without Lemma 0, and without sets of the same user, both count the same neighbours.
        everything = Params(drawn.k, operations=operations, min_owners=0)
        bound = nearest_bound(data, everything)
        frequent = np.bincount(data.items, minlength=data.width).min(initial=99) > drawn.k
        if frequent:
            assert bound_in_parts(data, drawn) == bound
            positive += bound > 0
    assert positive > 2


def test_counts_of_parts_of_the_sets_add_up():
    rng = np.random.default_rng(9)
    whole = weighted_sets(random_records(rng, 200, 9, 100))
    halves = [whole.take(rows) for rows in np.split(np.arange(len(whole.sets)), [31])]
    sizes = [count_sizes(half, 9) for half in halves]
    long = [count_long(half, 4, 9) for half in halves]
    for name, column in count_sizes(whole, 9)._asdict().items():
        assert np.array_equal(sum(getattr(part, name) for part in sizes), column)
    for name, column in count_long(whole, 4, 9)._asdict().items():
        assert np.array_equal(sum(getattr(part, name) for part in long), column)


@pytest.mark.parametrize("metric", METRICS["additions"])
def test_a_range_of_first_items_needs_only_the_sets_with_such_an_item(metric):
    whole = weighted_sets(random_records(np.random.default_rng(10), 150, 7))
    is_first = np.arange(7) % 3 == 1
    rows = np.unique(whole.sets.rows[is_first[whole.sets.items]])
    assert 0 < len(rows) < len(whole.sets)
    some = count_overlaps(whole.take(rows), is_first, 7, metric)
    for table, part in zip(count_overlaps(whole, is_first, 7, metric), some, strict=True):
        assert np.array_equal(table[:, rows], part)
        assert not np.delete(table, rows, axis=1).any()


def test_all_records_are_withdrawn_if_there_are_fewer_than_k_users():
    assert bound_in_parts(Records.from_sets([{1, 2}, {1}]), Params(3)) == 3
    assert bound_in_parts(Records.from_sets([]), Params(3)) == 0


@pytest.mark.parametrize("metric", METRICS["additions"])
def test_long_sets_are_counted_at_most_at_their_distance(metric):
    data = random_records(np.random.default_rng(11), 80, 7)
    whole, limit = weighted_sets(data), 3
    is_long = whole.sets.sizes > limit
    long = [mask for mask, chosen in zip(whole.sets.bitmasks(), is_long, strict=True) if chosen]
    of_item = np.array([sum(mask >> item & 1 for mask in long) for item in range(7)])
    short = whole.sets.take(np.flatnonzero(~is_long))
    table = module._long_sets(short, of_item, len(long), limit, metric)  # noqa: SLF001
    for mask, counts in zip(short.bitmasks(), table.T, strict=True):
        own = [item for item in range(7) if mask >> item & 1]
        for lacking in range(len(own) + 1):
            row = table_row_of(limit, limit + 1, len(own) - lacking, metric)
            actual = sum((mask & ~other).bit_count() <= lacking for other in long)
            assert counts[: row + 1].sum() >= actual
        if own:
            row = table_row_of(limit, limit + 1, len(own), metric)
            assert counts[: row + 1].sum() <= min(of_item[own]) or metric == GAINED
