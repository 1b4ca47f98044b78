"""Theorem 3: the cost of facility location is within a constant factor of the optimum."""

# ruff: noqa: S311 - seeded examples, no secrets

from random import Random

import pytest
from support.brute_force import PRICES, flips, optimum

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.params import Params

CONSTANT = 2.5


def unstructured(random, n):
    """Random records without clusters."""
    return [frozenset(e for e in range(6) if random.random() < 0.45) for _ in range(n)]


def clustered(random, n):
    """Records of a few topics, with items removed and added."""
    topics = [random.sample(range(12), random.randint(1, 4)) for _ in range(n // 4)]
    records = []
    for _ in range(n):
        topic = [e for e in random.choice(topics) if random.random() < 0.85]
        records.append(frozenset(topic + random.sample(range(12), random.random() < 0.4)))
    return records


def ratio(records, k, users, operations="both"):
    columns = Records.from_sets(records, users)
    labels = facility_location(columns, Params(k=k, operations=operations)).labels
    cost = cost_of(columns, *flip(columns, labels, operations)).total
    withdraw = operations != "additions"
    best = optimum(records, k, PRICES[operations], users=users, withdraw=withdraw)
    assert cost >= best
    return cost / best if best else 1.0 + cost


@pytest.mark.parametrize("kind", [unstructured, clustered])
@pytest.mark.parametrize(("k", "n"), [(2, 10), (3, 11), (5, 12)])
def test_the_cost_is_within_the_constant_of_the_optimum(kind, k, n):
    ratios = [ratio(kind(Random(seed), n), k, None) for seed in range(10)]

    assert max(ratios) <= CONSTANT
    assert sum(ratios) / len(ratios) < 1.2


@pytest.mark.parametrize("kind", [unstructured, clustered])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_constant_also_holds_if_users_have_several_records(kind, k):
    ratios = []
    for seed in range(8):
        random = Random(seed)
        users = [*range(6), *(random.randrange(6) for _ in range(3))]
        ratios.append(ratio(kind(random, 9), k, users))

    assert max(ratios) <= CONSTANT
    assert sum(ratios) / len(ratios) < 1.2


@pytest.mark.parametrize("operations", ["additions", "deletions"])
@pytest.mark.parametrize("k", [2, 3])
def test_with_one_operation_the_mean_cost_is_near_the_optimum(operations, k):
    ratios = [ratio(clustered(Random(seed), 10), k, None, operations) for seed in range(12)]

    assert sum(ratios) / len(ratios) < 1.35


def test_the_optimum_may_withdraw_records():
    records = [frozenset("ab"), frozenset("ab"), frozenset("cdefgh")]

    assert optimum(records, 2, flips, withdraw=True) == 6
    assert ratio(records, 2, None) == 1
