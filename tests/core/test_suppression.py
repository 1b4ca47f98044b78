"""Suppression: every record is in a group of k users; large inputs use intervals."""

# ruff: noqa: S311 - seeded examples, no secrets

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import flips, optimum, price_of, stars

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import intervals
from setanon_core.grouping.starts import suppression as module
from setanon_core.grouping.starts.cover import Partition
from setanon_core.grouping.starts.suppression import INTERVALS_NOTE, USERS_NOTE, suppression
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

SETS = st.lists(st.frozensets(st.integers(0, 5)), max_size=14)


def long_tailed_sets(random, n, m=500):
    """One item in all sets, and up to four items of a long-tailed distribution."""
    return [
        frozenset(
            [0, *(min(int(random.paretovariate(0.8)), m) for _ in range(random.randrange(5)))]
        )
        for _ in range(n)
    ]


def user_counts(labels, users):
    return [len(set(users[labels == label].tolist())) for label in np.unique(labels)]


@given(sets=SETS, k=st.integers(2, 5), data=st.data())
def test_every_record_is_in_a_group_of_k_users(sets, k, data):
    records = Records.from_sets(sets, [data.draw(st.integers(0, 7)) for _ in sets])

    labels = suppression(records, Params(k=k)).labels

    if records.n_users < k:
        assert (labels == WITHDRAWN).all()
    else:
        assert (labels != WITHDRAWN).all()
        assert min(user_counts(labels, records.users)) >= k


@pytest.mark.parametrize(("n", "k"), [(70, 2), (70, 7), (200, 3)])
@pytest.mark.parametrize("repeated_users", [False, True])
def test_large_inputs_are_grouped_and_a_note_states_that_no_factor_is_proved(n, k, repeated_users):
    random = Random(n + k)
    users = [random.randrange(n // 3) for _ in range(n)] if repeated_users else None
    records = Records.from_sets(long_tailed_sets(random, n), users)

    grouping = suppression(records, Params(k=k))

    assert min(user_counts(grouping.labels, records.users)) >= k
    assert INTERVALS_NOTE in grouping.notes
    assert (USERS_NOTE in grouping.notes) == repeated_users


def test_small_inputs_with_one_record_per_user_have_no_note():
    records = Records.from_sets(long_tailed_sets(Random(0), 15))
    assert suppression(records, Params(k=3)).notes == ()


@pytest.mark.parametrize("k", [2, 3])
def test_the_cost_of_intervals_is_near_the_optimum(k, monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 0)
    ratios = []
    for seed in range(25):
        sets = long_tailed_sets(Random(seed), 11, m=12)
        labels = suppression(Records.from_sets(sets), Params(k=k)).labels
        least = optimum(sets, k, flips)
        ratios.append(price_of(flips, sets, labels) / least if least else 1)

    assert max(ratios) <= 2.5
    assert np.mean(ratios) < 1.3


def test_blocks_of_similar_sets_have_groups_of_k_users(monkeypatch):
    monkeypatch.setattr(intervals, "BLOCK", 40)
    random = Random(3)
    users = [random.randrange(30) for _ in range(300)]
    records = Records.from_sets(long_tailed_sets(random, 300), users)

    labels = suppression(records, Params(k=4)).labels

    assert min(user_counts(labels, records.users)) >= 4


def test_a_block_of_too_few_users_is_merged_with_the_next(monkeypatch):
    monkeypatch.setattr(intervals, "BLOCK", 10)
    # All records of the first blocks belong to one user.
    sets = [{0, number} for number in range(1, 90)] + [{0}, {200}, {201}]
    records = Records.from_sets(sets, [0] * 89 + [1, 2, 3])

    labels = suppression(records, Params(k=3)).labels

    assert min(user_counts(labels, records.users)) >= 3


def test_many_copies_and_records_of_a_thousand_items_are_grouped():
    copies, random = 50_000, Random(1)
    sets = [frozenset({1, 2})] * copies
    sets += [frozenset(random.sample(range(3000), 1000)) for _ in range(20)]
    records = Records.from_sets(sets)

    labels = suppression(records, Params(k=3)).labels

    assert min(user_counts(labels, records.users)) >= 3
    # Each long record needs two copies to complete its group; the other copies are one group.
    assert np.bincount(labels[:copies]).max() >= copies - 2 * 20


def test_on_equal_prices_the_first_candidate_is_chosen():
    records = Records.from_sets([{1}, {2}, {1}, {2}, {1}, {2}])

    assert suppression(records, Params(k=2)).labels.tolist() == [0, 1, 0, 1, 0, 1]


def test_the_names_of_users_do_not_change_the_groups():
    sets = long_tailed_sets(Random(5), 80)

    unnamed = suppression(Records.from_sets(sets), Params(k=3)).labels
    named = suppression(Records.from_sets(sets, [f"u{i}" for i in range(80)]), Params(k=3)).labels

    assert unnamed.tolist() == named.tolist()


def greedy_cover(sets, users, k):
    """Park and Shim: choose the group of fewest stars per newly covered record, repeatedly."""
    candidates = [
        group
        for size in range(k, min(2 * k - 1, len(sets)) + 1)
        for group in combinations(range(len(sets)), size)
        if len({users[record] for record in group}) >= k
    ]
    uncovered, partition = set(range(len(sets))), Partition(users, k)
    while uncovered:
        chosen = min(
            (group for group in candidates if uncovered & set(group)),
            key=lambda group: Fraction(
                stars([sets[record] for record in group]), len(uncovered & set(group))
            ),
        )
        partition.add(chosen)
        uncovered -= set(chosen)
    return partition.groups()


@pytest.mark.parametrize(("k", "n"), [(2, 9), (3, 9)])
@pytest.mark.parametrize("repeated_users", [False, True])
def test_groups_of_fewest_stars_per_newly_covered_record_are_chosen(k, n, repeated_users):
    for seed in range(6):
        random = Random(seed)
        sets = [frozenset(random.sample(range(9), random.randint(1, 6))) for _ in range(n)]
        users = [random.randrange(n - 3) for _ in sets] if repeated_users else list(range(n))

        labels = suppression(Records.from_sets(sets, users), Params(k=k)).labels

        groups = [np.flatnonzero(labels == label).tolist() for label in range(labels.max() + 1)]
        assert groups == greedy_cover(sets, users, k)
