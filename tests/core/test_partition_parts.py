"""Steps in parts of the records give exactly what they give for all records at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import random_records

from setanon_core.columns.narrow import narrow, narrow_records, number_by_appearance
from setanon_core.columns.records import Records
from setanon_core.columns.users import encode_users
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip, flip_cost
from setanon_core.grouping.improve.duplicates import surplus_duplicates
from setanon_core.grouping.improve.reassign import make_moves, savings
from setanon_core.keywords.stored_queries import StoredQueries
from setanon_core.params import OPERATIONS, Params
from setanon_core.partition import parts
from setanon_core.partition.group_parts import (
    cost_in_parts,
    count_small_groups,
    flip_cost_in_parts,
    flip_in_parts,
    make_moves_in_parts,
    spare_in_parts,
)
from setanon_core.partition.parts import complete_groups, equal_sets
from setanon_core.partition.record_parts import RecordRanges
from setanon_core.partition.surplus import count_unshared, surplus_of_parts
from setanon_core.partition.visits import spare_records
from setanon_core.pipeline.prepare_records import prepare_records
from setanon_core.runtime.column_files import use_column_folder


@pytest.fixture(params=[1, 7, 10_000])
def _part_sizes(request, monkeypatch):
    monkeypatch.setattr(parts, "RECORDS_AT_ONCE", request.param)


def groups_of(seed, n=120):
    """Narrow records and labels, some of them withdrawn."""
    rng = np.random.default_rng(seed)
    records = random_records(rng, n, 8, 40)
    labels = rng.integers(-1, 20, n).astype(np.int32)
    return records, narrow_records(records), labels, rng


@pytest.mark.usefixtures("_part_sizes")
@pytest.mark.parametrize("operations", OPERATIONS)
def test_centers_savings_and_costs_are_those_of_all_records(operations):
    records, narrowed, labels, _ = groups_of(1)
    rows, centers = flip(records, labels.astype(np.int64), operations)
    found = flip_in_parts(narrowed, labels, operations)
    assert np.array_equal(found.rows, rows)
    assert np.array_equal(found.centers.items, centers.items)
    assert np.array_equal(found.centers.offsets, centers.offsets)
    assert np.array_equal(found.saving, savings(records, rows, centers))
    assert found.rows.dtype == found.saving.dtype == np.int32
    assert cost_in_parts(narrowed, found.rows, centers) == cost_of(records, rows, centers)
    none = np.zeros(len(records), bool)
    cost = flip_cost_in_parts(narrowed, labels, operations, none)
    assert cost == flip_cost(records, labels.astype(np.int64), operations)


@pytest.mark.usefixtures("_part_sizes")
def test_the_same_records_move_and_are_spared():
    moves = spares = 0
    for seed in range(10):
        records, narrowed, labels, rng = groups_of(seed)
        target = rng.integers(-1, 20, len(labels)).astype(np.int32)
        gain = rng.integers(-1, 4, len(labels)).astype(np.int32)
        wide = labels.astype(np.int64)
        expected = make_moves(records, wide, target, gain, 2)
        found = make_moves_in_parts(narrowed, labels, target, gain, 2)
        assert np.array_equal(found, labels if expected is None else expected)
        moves += int((found != labels).sum())
        wanted = rng.random(len(labels)) < 0.5
        spare = spare_in_parts(narrowed, labels, wanted, gain, 2)
        assert np.array_equal(spare, spare_records(records, wide, wanted, gain, 2))
        spares += int(spare.sum())
    assert min(moves, spares) > 50


@pytest.mark.usefixtures("_part_sizes")
def test_surplus_records_are_those_of_all_records(monkeypatch):
    monkeypatch.setattr("setanon_core.grouping.improve.duplicates.MIN_REMAINING", 1)
    rng = np.random.default_rng(3)
    records = random_records(rng, 300, 3, 200)
    keys = rng.permutation(int(records.users.max()) + 1).astype(np.uint64)
    # Users are numbered in the order of their keys.
    in_order = Records.from_checked_sets(records, keys[records.users].astype(np.int64))
    expected = surplus_duplicates(in_order, Params(2))
    assert expected.any()
    found = surplus_of_parts(RecordRanges(narrow_records(records)), Params(2), keys)
    assert np.array_equal(np.concatenate(found), expected)
    assert count_unshared(records, expected, 2) == 0


@pytest.mark.usefixtures("_part_sizes")
def test_marked_records_whose_set_too_few_users_have_are_counted():
    records = Records.from_sets([{1}] * 3 + [{2}] * 3 + [{3}] * 3, [0, 1, 2, 0, 0, 0, 3, 4, 5])
    marked = np.array([True] * 8 + [False])
    assert count_unshared(records, marked, 2) == 3
    assert count_unshared(records, marked, 3) == 5
    assert count_unshared(records, ~marked, 1) == 0


@pytest.mark.usefixtures("_part_sizes")
def test_no_part_splits_a_group_or_the_records_of_a_set():
    records, narrowed, labels, _ = groups_of(4)
    found = list(complete_groups(labels))
    assert sorted(np.concatenate(found).tolist()) == np.flatnonzero(labels >= 0).tolist()
    in_parts = [set(labels[part].tolist()) for part in found]
    assert sum(map(len, in_parts)) == len(set(labels[labels >= 0].tolist()))
    of_sets = list(equal_sets(narrowed))
    assert sorted(np.concatenate(of_sets).tolist()) == list(range(len(records)))
    ranks = [set(records.ranks[part].tolist()) for part in of_sets]
    assert sum(map(len, ranks)) == len(set(records.ranks.tolist()))
    for part in (*found, *of_sets):
        assert (np.diff(part) > 0).all()


@pytest.mark.usefixtures("_part_sizes")
def test_groups_of_too_few_users_are_counted():
    labels = np.array([0, 0, 1, 1, -1, 5], np.int32)
    users = np.array([0, 0, 0, 1, 2, 3], np.int32)
    assert count_small_groups(labels, users, 2) == 2


def test_numbers_too_large_for_32_bits_are_not_narrowed():
    assert narrow(np.array([1 << 31]), 1 << 31).tolist() == [1 << 31]


@given(st.lists(st.integers(0, 9)))
def test_users_are_numbered_by_first_appearance(users):
    numbers = number_by_appearance(np.array(users, np.int32), 10)
    assert numbers.tolist() == encode_users(users, len(users)).tolist()


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(40)))
def test_prepared_records_do_not_depend_on_the_input_order(order):
    records = random_records(np.random.default_rng(5), 40, 6, 25)
    shuffled = records.subset(np.array(order))
    prepared = [
        prepare_records(narrow_records(each), Params(2, min_owners=0), np.full(6, 9))
        for each in (records, shuffled)
    ]
    first, second = (each.stripped.records for each in prepared)
    assert np.array_equal(first.items, second.items)
    assert np.array_equal(first.offsets, second.offsets)
    assert np.array_equal(first.users, second.users)


@pytest.mark.parametrize("batch_words", [1, 5, 1000])
@pytest.mark.parametrize("in_files", [False, True])
def test_stored_queries_are_read_by_group_and_thread(batch_words, in_files, tmp_path):
    labels = np.array([2, -1, 0, 2, 0, 1], np.int32)
    typed = [[[1, 2], [3]], [[9]], [[4]], [[]], [[5, 6, 7]], [[8], [8, 8]]]
    with use_column_folder(tmp_path if in_files else None):
        stored = StoredQueries()
        for first, stop in ((0, 2), (2, 3), (3, 6)):
            queries = [query for thread in typed[first:stop] for query in thread]
            stored.append(
                np.array([len(thread) for thread in typed[first:stop]]),
                np.array([len(query) for query in queries]),
                np.array([word for query in queries for word in query], np.int32),
            )
    batches = list(stored.batches(labels, batch_words))
    assert [pair for batch in batches for pair in batch.lists()] == [
        (thread, query) for thread in (2, 4, 5, 0, 3) for query in typed[thread]
    ]
    groups = [set(labels[batch.threads].tolist()) for batch in batches]
    assert sum(map(len, groups)) == 3
    assert not list(tmp_path.iterdir())
