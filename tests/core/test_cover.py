"""Overlapping groups become a partition whose groups keep k users."""

# ruff: noqa: S311 - seeded examples, no secrets

from itertools import chain
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import stars

from setanon_core.grouping.starts.cover import Partition


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


def test_two_groups_of_k_users_that_share_a_record_are_merged():
    partition = Partition([0, 1, 2], k=2)

    partition.add([0, 1])
    partition.add([1, 2])

    assert partition.groups() == [[0, 1, 2]]


def test_a_shared_record_leaves_the_group_that_keeps_k_users():
    partition = Partition([0, 1, 2, 3, 0], k=2)

    partition.add([0, 1, 4])
    partition.add([4, 3])

    assert partition.groups() == [[0, 1], [3, 4]]
