"""Supersets, users of rows and nearest sets, against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core.columns import supersets
from setanon_core.columns.records import Records
from setanon_core.columns.supersets import SupersetIndex, contained
from setanon_core.columns.users import count_users
from setanon_core.risk.nearest_sets import nearest_sets

SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=9)


def columns(sets):
    records = Records.from_columns(
        np.array([item for each in sets for item in each], np.int64),
        np.cumsum([0, *map(len, sets)]),
        vocabulary=range(6),
    )
    return records.sets


def all_pairs(batches):
    return [
        pair for rows, found in batches for pair in zip(rows.tolist(), found.tolist(), strict=True)
    ]


@settings(max_examples=40)
@given(SETS, SETS, st.sampled_from([1, 3, 1 << 20]))
def test_supersets_are_those_of_the_definition_for_every_batch_size(sets, sought, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(supersets, "BATCH_PAIRS", batch)
        pairs = all_pairs(SupersetIndex(columns(sets)).find(columns(sought)))

    assert pairs == [
        (row, position)
        for row, wanted in enumerate(sought)
        for position, each in enumerate(sets)
        if wanted <= each
    ]


def test_batches_hold_all_pairs_of_a_sought_set(monkeypatch):
    monkeypatch.setattr(supersets, "BATCH_PAIRS", 2)
    batches = list(SupersetIndex(columns([{1}] * 3)).find(columns([{1}, {2}, {1}])))

    assert [rows.tolist() for rows, _ in batches] == [[0, 0, 0], [], [2, 2, 2]]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_users_are_counted_once_per_row(pairs):
    rows, users = np.array(pairs, np.int64).reshape(-1, 2).T
    expected = [len({user for each, user in pairs if each == row}) for row in range(5)]

    assert count_users(rows, users, 5).tolist() == expected


def test_contained_searches_beyond_the_last_cell():
    assert contained(np.array([2, 5]), np.array([1, 2, 5, 9])).tolist() == [
        False,
        True,
        True,
        False,
    ]


@settings(max_examples=40)
@given(SETS, SETS, st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_nearest_sets_share_an_item_and_have_the_least_weight_of_differences(sets, sought, weights):
    expected = []
    for row, wanted in enumerate(sought):
        distances = {
            position: sum(weights[item] for item in each ^ wanted)
            for position, each in enumerate(sets)
            if each & wanted
        }
        least = min(distances.values(), default=None)
        expected += [(row, position) for position in distances if distances[position] == least]

    found = nearest_sets(columns(sets), columns(sought), np.array(weights))
    assert sorted(all_pairs([found])) == expected


def test_nearest_sets_of_many_batches():
    sets = [{number % 6} for number in range(200)]
    rows, found = nearest_sets(columns(sets), columns(sets))

    assert len(rows) == sum(one == other for one in sets for other in sets)
    assert all(sets[row] == sets[position] for row, position in zip(rows, found, strict=True))
