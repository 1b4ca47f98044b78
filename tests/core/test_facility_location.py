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
from setanon_core.grouping.starts import facility_location as module
from setanon_core.grouping.starts.capacitated import fill_or_empty
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.grouping.starts.jms import Instance, open_facilities
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

sets = st.lists(st.frozensets(st.integers(0, 5)), max_size=12)
operations = st.sampled_from(["both", "additions", "deletions"])


def users_of(labels, users):
    return [len(set(users[labels == label].tolist())) for label in np.unique(labels[labels >= 0])]


@given(records=sets, k=st.integers(2, 5), operations=operations, data=st.data())
def test_every_group_has_k_users(records, k, operations, data):
    users = [data.draw(st.integers(0, 7)) for _ in records]
    columns = Records.from_sets(records, users)

    labels = facility_location(columns, Params(k=k, operations=operations)).labels

    assert all(count >= k for count in users_of(labels, columns.users))
    if columns.n_users < k:
        assert (labels == WITHDRAWN).all()
    elif operations == "additions":
        assert (labels != WITHDRAWN).all()


@given(records=sets, operations=operations)
def test_it_never_costs_more_than_one_group_or_withdrawing_all(records, operations):
    columns = Records.from_sets(records)
    if columns.n_users < 2:
        return

    labels = facility_location(columns, Params(k=2, operations=operations)).labels

    cost = cost_of(columns, *flip(columns, labels, operations)).total
    if operations == "additions":
        assert cost <= price_of(PRICES[operations], records, [0] * len(records))
    else:
        assert cost <= len(columns.items)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_a_thousand_records_are_grouped(k):
    random = Random(k)
    records = [
        {0, *(random.randrange(60) for _ in range(random.randrange(5)))} for _ in range(1000)
    ]
    columns = Records.from_sets(records, [random.randrange(500) for _ in records])

    labels = facility_location(columns, Params(k=k)).labels

    assert min(users_of(labels, columns.users)) >= k
    assert cost_of(columns, *flip(columns, labels)).total < len(columns.items) / 2


def test_beyond_the_limit_the_practical_form_takes_over(monkeypatch):
    monkeypatch.setattr(module, "FACILITY_LIMIT", 3)
    records = Records.from_sets([{1}, {1, 2}, {3}, {3, 4}, {5}])

    labels = facility_location(records, Params(k=2)).labels

    assert labels.tolist() == open_itemsets(records, Params(k=2)).labels.tolist()
    assert labels.tolist() == [labels[0], labels[0], labels[2], labels[2], WITHDRAWN]


@pytest.mark.parametrize(
    ("users", "operations", "notes"),
    [
        (None, "both", ()),
        ([0, 1, 2, 3, 3], "both", (module.NO_FACTOR,)),
        (None, "deletions", (module.NO_FACTOR,)),
    ],
)
def test_the_notes_say_where_no_factor_is_proved(users, operations, notes):
    records = Records.from_sets([{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}], users)
    assert facility_location(records, Params(2, operations=operations)).notes == notes


def test_many_copies_and_a_long_record_are_no_trouble():
    records = [{1, 2}] * 20_000 + [set(range(100, 1100))] + [{1, item} for item in range(5, 25)]
    columns = Records.from_sets(records)

    labels, centers = flip(columns, facility_location(columns, Params(k=3)).labels)

    assert labels[20_000] == WITHDRAWN
    assert set(labels[:20_000].tolist()) == {labels[0]}
    assert centers.sizes[labels[0]] == 2


def test_r_j_is_the_distance_to_the_k_nearest_users_not_records():
    columns = Records.from_sets([{1}, {1}, {1, 2}, {1, 2, 3, 4}], ["a", "a", "b", "c"])

    R = Instance(columns, Params(k=2)).R

    assert R.tolist() == [1, 1, 2]


@given(
    points=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    f=st.integers(0, 12),
    outside=st.sampled_from([np.inf, 10.0]),
)
def test_opened_facilities_cost_at_most_1_61_times_the_best_choice(points, f, outside):
    d = np.abs(np.subtract.outer(points, points))
    n = len(points)

    def cost(opened):
        nearest = np.min([np.full(n, outside), *(d[j] for j in opened)], axis=0)
        return f * len(opened) + nearest.sum()

    opened = open_facilities(d, np.ones(n, np.int64), np.full(n, float(f)), np.full(n, outside))

    choices = [[j for j in range(n) if word >> j & 1] for word in range(1 << n)]
    assert len(set(opened)) == len(opened)
    assert cost(opened) <= 1.61 * min(cost(choice) for choice in choices) + 1e-9


def test_a_short_site_is_filled_from_the_nearest_surplus():
    loads = np.array([2, 5, 9])
    distances = np.array([[0, 4, 1], [4, 0, 4], [1, 4, 0]])

    assert fill_or_empty(loads, distances, k=3) == [(2, 0, 1)]


def test_a_short_site_whose_neighbour_is_near_is_emptied_when_nobody_has_a_surplus():
    loads = np.array([2, 3, 3])
    distances = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]])

    assert fill_or_empty(loads, distances, k=3) == []


def test_one_emptied_site_fills_two_others():
    loads = np.array([2, 2, 2])
    distances = np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]])

    shipments = fill_or_empty(loads, distances, k=3)

    assert sorted(shipments) == [(0, 1, 1), (0, 2, 1)]


@pytest.mark.parametrize("operations", ["both", "additions", "deletions"])
def test_on_average_it_is_near_the_optimum(operations):
    ratios = []
    for seed in range(15):
        random = Random(seed)
        records = [frozenset(random.sample(range(6), random.randint(0, 4))) for _ in range(9)]
        columns = Records.from_sets(records)
        labels = facility_location(columns, Params(k=3, operations=operations)).labels
        cost = cost_of(columns, *flip(columns, labels, operations)).total
        withdraw = operations != "additions"
        ratios.append(cost / optimum(records, 3, PRICES[operations], withdraw=withdraw))

    assert np.mean(ratios) < 1.35
