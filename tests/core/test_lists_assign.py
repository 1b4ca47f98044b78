"""Assigned lists: k users per list, and the cost compared with the optimum of small groups."""

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest

from setanon_core.columns.arrays import offsets_of
from setanon_core.lists.assign import assign_lists
from setanon_core.lists.choices import build_choices
from setanon_core.lists.query_lists import QueryLists


def query_lists(lists):
    return QueryLists(
        np.array([query for each in lists for query in each], np.int64),
        offsets_of(np.array([len(each) for each in lists], np.int64)),
    )


@cache
def cost(own, other):
    """Queries removed plus queries added, counted with repetitions."""
    return len(own) + len(other) - 2 * (Counter(own) & Counter(other)).total()


def assigned(members, shared, k):
    """The list of each member of one group; candidates are the shared and the members' lists."""
    lists = [*shared, *dict.fromkeys(own for _, own in members if own not in shared)]
    choices = build_choices(
        query_lists([own for _, own in members]),
        np.zeros(len(members), np.int64),
        np.array([user for user, _ in members], np.int64),
        lists=query_lists(lists),
        list_group=np.zeros(len(lists), np.int64),
        shared=np.arange(len(lists)) < len(shared),
    )
    return [lists[candidate] for candidate in assign_lists(choices, k)]


def partitions(members):
    if not members:
        yield []
        return
    for rest in partitions(members[1:]):
        yield [[members[0]], *rest]
        for n, part in enumerate(rest):
            yield [*rest[:n], [members[0], *part], *rest[n + 1 :]]


def optimal_cost(members, shared, k):
    """The least cost of all partitions of the members and all lists for their parts."""
    candidates = [*shared, *(own for _, own in members)]

    def part_cost(part):
        enough = len({user for user, _ in part}) >= k
        usable = candidates if enough else shared
        return min(
            (sum(cost(own, other) for _, own in part) for other in usable), default=float("inf")
        )

    return min(sum(map(part_cost, partition)) for partition in partitions(members))


def random_group(rng, k):
    """Members of at least k users, some with several threads, and up to two shared lists."""

    def draw():
        return tuple(rng.choice("ab") for _ in range(rng.randint(1, 5)))

    users = [*range(k), *(rng.randrange(k, k + 9) for _ in range(rng.randint(0, 7 - k)))]
    return [(user, draw()) for user in users], [draw() for _ in range(rng.randint(0, 2))]


def numbered(members, shared):
    """Queries as numbers."""
    number = {"a": 0, "b": 1}.__getitem__
    return (
        [(user, tuple(map(number, own))) for user, own in members],
        list(dict.fromkeys(tuple(map(number, each)) for each in shared)),
    )


@pytest.mark.parametrize("k", [2, 3])
def test_cost_is_at_most_a_few_percent_above_the_optimum(k):
    rng = random.Random(k)  # noqa: S311 - a test
    total = optimum = 0
    for _ in range(25):
        members, shared = numbered(*random_group(rng, k))
        result = assigned(members, shared, k)

        pairs = {(user, new) for (user, _), new in zip(members, result, strict=True)}
        users = Counter(new for _, new in pairs)
        assert all(users[new] >= k for new in set(result) - set(shared))
        reached = sum(cost(own, new) for (_, own), new in zip(members, result, strict=True))
        least = optimal_cost(members, shared, k)
        assert reached >= least
        if not shared and len(members) < 2 * k:
            assert reached == least  # only one list is possible
        total += reached
        optimum += least
    assert total <= 1.05 * optimum


def test_a_shared_list_needs_no_further_users():
    members, shared = [(0, (1, 1, 1))], [(1,), (1, 1)]

    assert assigned(members, shared, 3) == [(1, 1)]


def test_a_list_of_k_users_is_opened_if_it_costs_less_than_shared_ones():
    members, shared = [(user, (2,) * (user + 5)) for user in range(3)], [(1,)]

    assert assigned(members, shared, 3) == [(2,) * 6] * 3
    assert assigned(members, shared, 4) == [(1,)] * 3


def test_several_threads_of_a_user_do_not_fill_a_list():
    members, shared = [(user, (2,) * 5) for user in (0, 0, 0, 1)], [(1,)]

    assert assigned(members, shared, 2) == [(2,) * 5] * 4
    assert assigned(members, shared, 3) == [(1,)] * 4
