"""Corollary 1: the flips of the suppression algorithm are within O(k log k) of the optimum."""

# ruff: noqa: S311 - seeded examples, no secrets

from random import Random

import pytest
from support.brute_force import flips, harmonic, optimum, price_of

from setanon_core.columns.records import Records
from setanon_core.grouping.starts.suppression import suppression
from setanon_core.params import Params


def random_records(random, n, m):
    return [frozenset(random.sample(range(m), random.randint(1, m))) for _ in range(n)]


@pytest.mark.parametrize(("k", "n"), [(2, 9), (3, 10), (4, 11), (5, 12)])
def test_flips_are_within_2k_minus_1_times_its_harmonic_number(k, n):
    for seed in range(8):
        records = random_records(Random(seed), n, m=3 + seed % 4)

        labels = suppression(Records.from_sets(records), Params(k=k)).labels

        factor = (2 * k - 1) * harmonic(2 * k - 1)
        assert price_of(flips, records, labels) <= factor * optimum(records, k, flips)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_in_practice_the_factor_is_far_smaller(k):
    ratios = []
    for seed in range(15):
        records = random_records(Random(seed), n=11, m=6)
        labels = suppression(Records.from_sets(records), Params(k=k)).labels
        ratios.append(price_of(flips, records, labels) / optimum(records, k, flips))

    assert max(ratios) < 2
    assert sum(ratios) / len(ratios) < 1.25
