"""Laws of invariance: what the result may depend on, and what it may not."""

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

CUTS = {"as they are": None, "tiny": 8}


@pytest.fixture(params=CUTS)
def _blocks(request, monkeypatch):
    """The sizes as they are; then so small that a few dozen records meet all of them."""
    monkeypatch.setattr(lower_bound, "PROGRAM_LIMIT", 12)  # for the sake of time
    if CUTS[request.param]:
        monkeypatch.setattr(local_search, "BLOCK", 8)
        monkeypatch.setattr(star, "STAR_BLOCK", 10)
        monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)


def instances(count, largest=45):
    """Random inputs of every kind: sets, users (None, many or few), and what is asked."""
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
        asked = {
            "k": int(rng.integers(2, 5)),
            "operations": OPERATIONS[int(rng.integers(3))],
            "grouper": (None, "star", "suppression")[int(rng.integers(3))],
            "min_owners": (None, 0)[int(rng.integers(2))],
        }
        yield rng, sets, users, asked


def outcome(sets, result):
    return Counter(zip(sets, result.records, strict=True)), result.certificate


@pytest.mark.usefixtures("_blocks")
def test_permuting_the_input_permutes_the_result():
    for rng, sets, users, asked in instances(30):
        there = outcome(sets, anonymize(sets, users=users, **asked))
        order = rng.permutation(len(sets)).tolist()
        moved = [sets[i] for i in order]
        back = outcome(moved, anonymize(moved, users=[users[i] for i in order], **asked))
        assert there == back


@pytest.mark.usefixtures("_blocks")
def test_which_users_stay_in_play_does_not_depend_on_who_came_first():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sets = [frozenset(np.flatnonzero(rng.random(3) < 0.5).tolist()) for _ in range(50)]
        users = rng.integers(0, 25, 50).tolist()
        asked = {"k": 2, "grouper": "star", "min_owners": 0, "operations": OPERATIONS[seed % 3]}
        there = outcome(sets, anonymize(sets, users=users, **asked))
        back = outcome(sets[::-1], anonymize(sets[::-1], users=users[::-1], **asked))
        assert there == back


def test_records_that_only_stripping_makes_alike_are_told_apart():
    # Without their rare items the first two are twins, and one of them may be worth a group.
    sets = [{"a", "x"}, {"a", "y"}, {"a", "b"}, {"a", "b"}, {"b"}, {"b"}, {"a"}]
    users = [0, 1, 1, 2, 0, 3, 4]
    sets = list(map(frozenset, sets))
    expected = outcome(sets, anonymize(sets, 2, users=users))
    for shift in range(1, len(sets)):
        moved, theirs = sets[shift:] + sets[:shift], users[shift:] + users[:shift]
        assert outcome(moved, anonymize(moved, 2, users=theirs)) == expected


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.frozensets(st.integers(0, 2)), st.integers(0, 3)), min_size=1), st.data()
)
def test_the_canonical_order_forgets_the_order_of_the_input_up_to_the_names_of_users(rows, data):
    def line(those):
        records = Records.from_sets([s for s, _ in those], [u for _, u in those])
        order = canonical_order(records).tolist()
        seen: dict[int, int] = {}
        # Users by their first appearance in the order: what the groupers get to see.
        return [(those[i][0], seen.setdefault(those[i][1], len(seen))) for i in order]

    assert line(rows) == line(data.draw(st.permutations(rows)))


@pytest.mark.usefixtures("_blocks")
def test_renaming_users_changes_nothing():
    for rng, sets, users, asked in instances(10):
        names = rng.permutation(1000).tolist()
        plain = anonymize(sets, users=users, **asked)
        for renamed in ([f"u{names[u]}" for u in users], np.array([names[u] for u in users])):
            result = anonymize(sets, users=renamed, **asked)
            assert result.labels.tolist() == plain.labels.tolist()
            assert result.records == plain.records
            assert result.certificate == plain.certificate


@pytest.mark.usefixtures("_blocks")
def test_renaming_items_in_their_order_changes_nothing_else():
    for _, sets, users, asked in instances(10):
        plain = anonymize(sets, users=users, **asked)
        renamed = [{f"item {item:03}" for item in record} for record in sets]
        result = anonymize(renamed, users=users, **asked)
        assert result.labels.tolist() == plain.labels.tolist()
        assert result.certificate == plain.certificate
        assert list(result.records) == [
            record and frozenset(f"item {item:03}" for item in record) for record in plain.records
        ]


@pytest.mark.usefixtures("_blocks")
def test_the_same_call_gives_the_same_labels():
    for _, sets, users, asked in instances(10):
        first, second = (anonymize(sets, users=users, **asked) for _ in range(2))
        assert first.labels.tolist() == second.labels.tolist()
        assert first.certificate == second.certificate


@pytest.mark.usefixtures("_blocks")
def test_another_seed_gives_a_valid_result():
    for _, sets, users, asked in instances(10):
        for seed in (1, 2, 2**40):
            result = anonymize(sets, users=users, seed=seed, **asked)
            assert verify(result.records, asked["k"], users=users).ok
            assert result.lower_bound <= result.cost.total


def test_the_hash_seed_of_python_changes_nothing():
    code = (
        "from setanon_core import anonymize\n"
        "sets = [{chr(97 + i % 3), chr(100 + i % 4), chr(105 + i * i % 5)} for i in range(30)]\n"
        "print(anonymize(sets, 3, users=[f'u{i % 11}' for i in range(30)]).labels.tolist())"
    )
    printed = {
        subprocess.run(  # noqa: S603 - our own code, in a fresh interpreter
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(printed) == 1


def test_settled_records_share_no_group_with_those_in_play_before_algorithm_1(monkeypatch):
    monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)
    monkeypatch.setattr(local_search, "BLOCK", 4)
    for seed in range(6):
        data = random_records(np.random.default_rng(seed), 70, 3, (None, 30)[seed % 2])
        for operations in OPERATIONS:
            params = Params(2, operations=operations)
            done = duplicates.surplus_duplicates(data, params)
            labels = group(data, params).labels
            assert not set(labels[done].tolist()) & set(labels[~done].tolist())
            for label in np.unique(labels[done]):
                assert len(np.unique(data.ranks[labels == label])) == 1
