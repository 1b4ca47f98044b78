# ruff: noqa: S311 - seeded examples, no secrets

from itertools import chain
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import flips, optimum, price_of, stars

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import intervals
from setanon_core.grouping.starts.cover import Partition
from setanon_core.grouping.starts.suppression import INTERVALS_NOTE, USERS_NOTE, suppression
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

sets = st.lists(st.frozensets(st.integers(0, 5)), max_size=14)


def like_a_log(random, n, m=500):
    """A word that all share, and up to four words of a long tail."""
    return [
        frozenset(
            [0, *(min(int(random.paretovariate(0.8)), m) for _ in range(random.randrange(5)))]
        )
        for _ in range(n)
    ]


def users_of(labels, users):
    return [len(set(users[labels == label].tolist())) for label in np.unique(labels)]


@given(records=sets, k=st.integers(2, 5), data=st.data())
def test_every_record_is_in_a_group_of_k_users(records, k, data):
    users = [data.draw(st.integers(0, 7)) for _ in records]
    columns = Records.from_sets(records, users)

    labels = suppression(columns, Params(k=k)).labels

    if columns.n_users < k:
        assert (labels == WITHDRAWN).all()
    else:
        assert (labels != WITHDRAWN).all()
        assert min(users_of(labels, columns.users)) >= k


@pytest.mark.parametrize("n", [70, 200])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("repeated", [False, True])
def test_large_inputs_are_grouped_too_and_the_notes_say_that_the_factor_is_gone(n, k, repeated):
    random = Random(n + k)
    users = [random.randrange(n // 3) for _ in range(n)] if repeated else None
    columns = Records.from_sets(like_a_log(random, n), users)

    grouping = suppression(columns, Params(k=k))

    assert min(users_of(grouping.labels, columns.users)) >= k
    assert INTERVALS_NOTE in grouping.notes
    assert (USERS_NOTE in grouping.notes) == repeated


def test_small_inputs_with_one_record_per_user_carry_no_note():
    assert suppression(Records.from_sets(like_a_log(Random(0), 15)), Params(k=3)).notes == ()


@pytest.mark.parametrize("k", [2, 3])
def test_intervals_come_close_to_trying_all_groups(k, monkeypatch):
    ratios = []
    for seed in range(25):
        records = like_a_log(Random(seed), 11, m=12)
        with monkeypatch.context() as patch:
            patch.setattr("setanon_core.grouping.starts.suppression.CANDIDATES", 0)
            labels = suppression(Records.from_sets(records), Params(k=k)).labels
        least = optimum(records, k, flips)
        ratios.append(price_of(flips, records, labels) / least if least else 1)

    assert max(ratios) <= 2.5
    assert np.mean(ratios) < 1.3


def test_blocks_of_similar_sets_are_grouped_apart(monkeypatch):
    monkeypatch.setattr(intervals, "BLOCK", 40)
    random = Random(3)
    users = [random.randrange(30) for _ in range(300)]
    columns = Records.from_sets(like_a_log(random, 300), users)

    labels = suppression(columns, Params(k=4)).labels

    assert min(users_of(labels, columns.users)) >= 4


def test_a_block_of_too_few_users_joins_another(monkeypatch):
    monkeypatch.setattr(intervals, "BLOCK", 10)
    # One user has all the records that any early block would hold.
    records = [{0, number} for number in range(1, 90)] + [{0}, {200}, {201}]
    columns = Records.from_sets(records, [0] * 89 + [1, 2, 3])

    labels = suppression(columns, Params(k=3)).labels

    assert min(users_of(labels, columns.users)) >= 3


def test_fifty_thousand_copies_and_a_record_of_a_thousand_items_are_no_trouble():
    random = Random(1)
    records = [frozenset({1, 2})] * 50_000
    records += [frozenset(random.sample(range(3000), 1000)) for _ in range(20)]
    columns = Records.from_sets(records)

    labels = suppression(columns, Params(k=3)).labels

    assert min(users_of(labels, columns.users)) >= 3
    # Each long record takes two copies to fill its group; the others stay together.
    assert np.bincount(labels[:50_000]).max() >= 50_000 - 2 * 20


def test_equal_prices_go_to_the_first_candidate():
    records = Records.from_sets([{1}, {2}, {1}, {2}, {1}, {2}])

    assert suppression(records, Params(k=2)).labels.tolist() == [0, 1, 0, 1, 0, 1]


def test_the_same_records_are_grouped_the_same_whatever_their_users_are_called():
    records = like_a_log(Random(5), 80)

    plain = suppression(Records.from_sets(records), Params(k=3)).labels
    named = suppression(
        Records.from_sets(records, [f"u{i}" for i in range(80)]), Params(k=3)
    ).labels

    assert plain.tolist() == named.tolist()


@given(
    chosen=st.lists(
        st.lists(st.integers(0, 9), min_size=3, max_size=5, unique=True), min_size=1, max_size=8
    ),
    k=st.integers(2, 3),
)
def test_a_cover_becomes_a_partition_with_less_than_twice_the_stars(chosen, k):
    records = [frozenset(Random(i).sample(range(6), 3)) for i in range(10)]
    chosen = [group[: 2 * k - 1] for group in chosen]
    partition = Partition(range(10), k)

    for group in chosen:
        partition.add(group)

    groups = partition.groups()
    assert sorted(chain(*groups)) == sorted(set(chain(*chosen)))
    assert all(k <= len(group) <= 2 * k - 1 for group in groups)
    weight = sum(stars([records[i] for i in group]) for group in chosen)
    assert k * sum(stars([records[i] for i in group]) for group in groups) <= (2 * k - 1) * weight


def test_sets_that_cannot_spare_the_record_they_share_are_merged():
    partition = Partition([0, 1, 2], k=2)

    partition.add([0, 1])
    partition.add([1, 2])

    assert partition.groups() == [[0, 1, 2]]


def test_a_record_leaves_the_group_that_keeps_k_users_without_it():
    partition = Partition([0, 1, 2, 3, 0], k=2)

    partition.add([0, 1, 4])
    partition.add([4, 3])

    assert partition.groups() == [[0, 1], [3, 4]]
