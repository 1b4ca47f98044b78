"""Facility location: k users per group, cost near the optimum, and the limits of its factor."""

# ruff: noqa: S311 - seeded examples, no secrets

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import PRICES, optimum, price_of

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.local_search import local_search
from setanon_core.grouping.starts import facility_location as module
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.grouping.starts.jms import open_facilities
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params

SETS = st.lists(st.frozensets(st.integers(0, 5)), max_size=12)


def distinct_sets(random, n):
    """Sets of a few topics, all different and not empty."""
    sets = {}
    while len(sets) < n:
        topic = random.choice([range(5), range(4, 10), range(9, 12)])
        size = random.randint(1, len(topic))
        sets[frozenset([*random.sample(topic, size), *random.sample(range(12), 1)])] = None
    return list(sets)


def user_counts(labels, users):
    return [len(set(users[labels == label].tolist())) for label in np.unique(labels[labels >= 0])]


@given(sets=SETS, k=st.integers(2, 5), operations=st.sampled_from(OPERATIONS), data=st.data())
def test_every_group_has_k_users(sets, k, operations, data):
    records = Records.from_sets(sets, [data.draw(st.integers(0, 7)) for _ in sets])

    labels = facility_location(records, Params(k=k, operations=operations)).labels

    assert all(count >= k for count in user_counts(labels, records.users))
    if records.n_users < k:
        assert (labels == WITHDRAWN).all()
    elif operations == "additions":
        assert (labels != WITHDRAWN).all()


@given(sets=SETS, operations=st.sampled_from(OPERATIONS))
def test_the_cost_is_at_most_that_of_one_group_or_of_withdrawing_all(sets, operations):
    records = Records.from_sets(sets)
    if records.n_users < 2:
        return

    labels = facility_location(records, Params(k=2, operations=operations)).labels

    cost = cost_of(records, *flip(records, labels, operations)).total
    if operations == "additions":
        assert cost <= price_of(PRICES[operations], sets, [0] * len(sets))
    else:
        assert cost <= len(records.items)


@pytest.mark.parametrize(
    ("n", "k"),
    [(150, 2), (150, 5), (1000, 3)],
)
def test_records_with_a_common_item_cost_less_than_half_of_their_items(n, k):
    random = Random(k)
    sets = [{0, *(random.randrange(60) for _ in range(random.randrange(5)))} for _ in range(n)]
    records = Records.from_sets(sets, [random.randrange(n // 2) for _ in sets])

    labels = facility_location(records, Params(k=k)).labels

    assert min(user_counts(labels, records.users)) >= k
    assert cost_of(records, *flip(records, labels)).total < len(records.items) / 2


def test_above_the_limit_of_distinct_sets_frequent_itemsets_are_opened(monkeypatch):
    monkeypatch.setattr(module, "FACILITY_LIMIT", 3)
    records = Records.from_sets([{1}, {1, 2}, {3}, {3, 4}, {5}])

    grouping = facility_location(records, Params(k=2))

    labels = grouping.labels.tolist()
    assert labels == open_itemsets(records, Params(k=2)).labels.tolist()
    assert labels == [labels[0], labels[0], labels[2], labels[2], WITHDRAWN]
    assert module.ITEMSETS in grouping.notes


@pytest.mark.parametrize(
    ("users", "operations", "notes"),
    [
        (None, "both", ()),
        ([0, 1, 2, 3, 3], "both", (module.NO_FACTOR,)),
        (None, "deletions", (module.NO_FACTOR,)),
    ],
)
def test_a_note_is_added_if_no_factor_is_proved(users, operations, notes):
    records = Records.from_sets([{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}], users)
    assert facility_location(records, Params(2, operations=operations)).notes == notes


def test_many_copies_and_one_long_record_are_grouped():
    copies = 20_000
    sets = [{1, 2}] * copies + [set(range(100, 1100))] + [{1, item} for item in range(5, 25)]
    records = Records.from_sets(sets)

    labels, centers = flip(records, facility_location(records, Params(k=3)).labels)

    assert labels[copies] == WITHDRAWN
    assert set(labels[:copies].tolist()) == {labels[0]}
    assert centers.sizes[labels[0]] == 2


@pytest.mark.parametrize("operations", OPERATIONS)
def test_the_mean_cost_is_near_the_optimum(operations):
    ratios = []
    for seed in range(15):
        random = Random(seed)
        sets = [frozenset(random.sample(range(6), random.randint(0, 4))) for _ in range(9)]
        records = Records.from_sets(sets)
        labels = facility_location(records, Params(k=3, operations=operations)).labels
        cost = cost_of(records, *flip(records, labels, operations)).total
        withdraw = operations != "additions"
        ratios.append(cost / optimum(sets, 3, PRICES[operations], withdraw=withdraw))

    assert np.mean(ratios) < 1.35


def opening_costs(sets, k, t):
    """f_j = 2(t-1)/(k-t+1) R_j, for R_j the distances from j to its k nearest records."""
    nearest = [sorted(len(a ^ b) for b in sets)[:k] for a in sets]
    return [2 * (t - 1) / (k - t + 1) * sum(distances) for distances in nearest]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_opened_facilities_cost_at_most_1_61_times_the_least(k, monkeypatch):
    """The step of the proof that bounds opening and connection costs together."""
    opened = []

    def spy(*args):
        opened.append(open_facilities(*args))
        return opened[-1]

    monkeypatch.setattr(module, "open_facilities", spy)
    for seed in range(6):
        opened.clear()
        sets = distinct_sets(Random(seed), 8)
        facility_location(Records.from_sets(sets), Params(k=k))

        # Facilities are the distinct sets in the order of `Sets.ranks`.
        order = np.argsort(Records.from_sets(sets).ranks)
        sets = [sets[position] for position in order.tolist()]
        thresholds = sorted({k // 2 + 1, 2 * k // 3 + 1, k})
        assert len(opened) == len(thresholds)
        for t, facilities in zip(thresholds, opened, strict=True):
            f = opening_costs(sets, k, t)

            def cost(facilities, f=f, sets=sets):
                served = (min([len(s), *(len(s ^ sets[j]) for j in facilities)]) for s in sets)
                return sum(f[j] for j in facilities) + sum(served)

            subsets = ([j for j in range(8) if mask >> j & 1] for mask in range(1 << 8))
            assert cost(facilities) <= 1.61 * min(map(cost, subsets)) + 1e-9


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_local_search_starts_from_groups_of_k_users(k, monkeypatch):
    starts = []

    def spy(records, labels, params):
        starts.append(labels)
        return local_search(records, labels, params)

    monkeypatch.setattr(module, "local_search", spy)
    for seed in range(8):
        random = Random(seed)
        sets = distinct_sets(random, 14)
        records = Records.from_sets(sets, [random.randrange(11) for _ in sets])
        facility_location(records, Params(k=k))

        for labels in starts:
            assert all(count >= k for count in user_counts(labels, records.users))
        starts.clear()
