"""Invariance: the result does not depend on input order, names, hash seed or block sizes."""

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import random_records

from setanon_core import anonymize, verify
from setanon_core.columns.records import Records
from setanon_core.grouping.bounds import lower_bound
from setanon_core.grouping.improve import duplicates, local_search
from setanon_core.grouping.methods import group
from setanon_core.grouping.starts import star
from setanon_core.params import OPERATIONS, Params
from setanon_core.pipeline.group_records import canonical_order


@pytest.fixture(params=["default sizes", "small blocks"])
def _blocks(request, monkeypatch):
    """Default block sizes, and blocks so small that a few dozen records exceed them."""
    monkeypatch.setattr(lower_bound, "PROGRAM_LIMIT", 12)  # to save time
    if request.param == "small blocks":
        monkeypatch.setattr(local_search, "BLOCK", 8)
        monkeypatch.setattr(star, "STAR_BLOCK", 10)
        monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)


def instances(count, largest=45):
    """Random sets, users (one, many or few records each) and parameters."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, largest))
        popularity = rng.uniform(0.05, 0.8, int(rng.integers(2, 8)))
        sets = [
            frozenset(np.flatnonzero(rng.random(len(popularity)) < popularity).tolist())
            for _ in range(n)
        ]
        bound = (n, max(2, n // 2), 5)[seed % 3]
        users = list(range(n)) if seed % 4 == 3 else rng.integers(0, bound, n).tolist()
        params = {
            "k": int(rng.integers(2, 5)),
            "operations": OPERATIONS[int(rng.integers(3))],
            "grouper": (None, "star", "suppression")[int(rng.integers(3))],
            "min_owners": (None, 0)[int(rng.integers(2))],
        }
        yield rng, sets, users, params


def outcome(sets, result):
    return Counter(zip(sets, result.records, strict=True)), result.certificate


@pytest.mark.usefixtures("_blocks")
def test_permuting_the_input_permutes_the_result():
    for rng, sets, users, params in instances(12):
        original = outcome(sets, anonymize(sets, users=users, **params))
        order = rng.permutation(len(sets)).tolist()
        permuted = [sets[i] for i in order]
        result = anonymize(permuted, users=[users[i] for i in order], **params)
        assert outcome(permuted, result) == original


@pytest.mark.usefixtures("_blocks")
def test_which_users_are_regrouped_does_not_depend_on_the_input_order():
    for seed in range(15):
        rng = np.random.default_rng(seed)
        sets = [frozenset(np.flatnonzero(rng.random(3) < 0.5).tolist()) for _ in range(50)]
        users = rng.integers(0, 25, 50).tolist()
        params = {"k": 2, "grouper": "star", "min_owners": 0, "operations": OPERATIONS[seed % 3]}
        original = outcome(sets, anonymize(sets, users=users, **params))
        result = anonymize(sets[::-1], users=users[::-1], **params)
        assert outcome(sets[::-1], result) == original


def test_records_that_differ_in_stripped_items_only_are_distinguished():
    # Without their rare items the first two are equal, but their users differ.
    sets = [{"a", "x"}, {"a", "y"}, {"a", "b"}, {"a", "b"}, {"b"}, {"b"}, {"a"}]
    users = [0, 1, 1, 2, 0, 3, 4]
    sets = list(map(frozenset, sets))
    expected = outcome(sets, anonymize(sets, 2, users=users))
    for shift in range(1, len(sets)):
        rotated, rotated_users = sets[shift:] + sets[:shift], users[shift:] + users[:shift]
        assert outcome(rotated, anonymize(rotated, 2, users=rotated_users)) == expected


@settings(max_examples=80)
@given(
    st.lists(st.tuples(st.frozensets(st.integers(0, 2)), st.integers(0, 3)), min_size=1), st.data()
)
def test_the_canonical_order_depends_neither_on_input_order_nor_on_user_names(rows, data):
    def ordered(rows):
        records = Records.from_sets([items for items, _ in rows], [user for _, user in rows])
        order = canonical_order(records).tolist()
        numbers: dict[int, int] = {}
        # Users are numbered by first appearance in the order, as the groupers number them.
        return [(rows[i][0], numbers.setdefault(rows[i][1], len(numbers))) for i in order]

    assert ordered(rows) == ordered(data.draw(st.permutations(rows)))


@pytest.mark.usefixtures("_blocks")
def test_renaming_users_changes_nothing():
    for rng, sets, users, params in instances(4):
        names = rng.permutation(1000).tolist()
        plain = anonymize(sets, users=users, **params)
        for renamed in ([f"u{names[u]}" for u in users], np.array([names[u] for u in users])):
            result = anonymize(sets, users=renamed, **params)
            assert result.labels.tolist() == plain.labels.tolist()
            assert result.records == plain.records
            assert result.certificate == plain.certificate


@pytest.mark.usefixtures("_blocks")
def test_renaming_items_in_sort_order_changes_only_their_names():
    for _, sets, users, params in instances(4):
        plain = anonymize(sets, users=users, **params)
        renamed = [{f"item {item:03}" for item in record} for record in sets]
        result = anonymize(renamed, users=users, **params)
        assert result.labels.tolist() == plain.labels.tolist()
        assert result.certificate == plain.certificate
        assert list(result.records) == [
            record and frozenset(f"item {item:03}" for item in record) for record in plain.records
        ]


@pytest.mark.usefixtures("_blocks")
def test_the_same_call_gives_the_same_labels():
    for _, sets, users, params in instances(4):
        first, second = (anonymize(sets, users=users, **params) for _ in range(2))
        assert first.labels.tolist() == second.labels.tolist()
        assert first.certificate == second.certificate


@pytest.mark.usefixtures("_blocks")
def test_another_seed_gives_a_valid_result():
    for _, sets, users, params in instances(5):
        for seed in (1, 2**40):
            result = anonymize(sets, users=users, seed=seed, **params)
            assert verify(result.records, params["k"], users=users).ok
            assert result.lower_bound <= result.cost.total


def test_pythons_hash_seed_makes_no_difference():
    code = (
        "from setanon_core import anonymize\n"
        "sets = [{chr(97 + i % 3), chr(100 + i % 4), chr(105 + i * i % 5)} for i in range(30)]\n"
        "print(anonymize(sets, 3, users=[f'u{i % 11}' for i in range(30)]).labels.tolist())"
    )
    printed = {
        subprocess.run(  # noqa: S603 - fixed code in a new interpreter
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1


def test_surplus_duplicates_share_no_group_with_other_records(monkeypatch):
    monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)
    monkeypatch.setattr(local_search, "BLOCK", 4)
    for seed in range(6):
        records = random_records(np.random.default_rng(seed), 70, 3, (None, 30)[seed % 2])
        for operations in OPERATIONS:
            params = Params(2, operations=operations)
            surplus = duplicates.surplus_duplicates(records, params)
            labels = group(records, params).labels
            assert not set(labels[surplus].tolist()) & set(labels[~surplus].tolist())
            for label in np.unique(labels[surplus]):
                assert len(np.unique(records.ranks[labels == label])) == 1
