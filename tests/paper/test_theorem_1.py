"""Theorem 1: Cost(S_flip) <= Cost(S_*) <= a Cost(OPT_*) <= a (2k-1) Cost(OPT_flip)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import flips, harmonic, optimum, price_of, stars

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.starts.suppression import suppression
from setanon_core.params import Params

sets = st.lists(st.frozensets(st.integers(0, 4), min_size=1), min_size=4, max_size=8)


def flips_of(records, labels):
    columns = Records.from_sets(records)
    return cost_of(columns, *flip(columns, labels)).total


@given(records=sets, k=st.integers(2, 3), data=st.data())
def test_flips_cost_at_most_half_the_stars_of_any_grouping(records, k, data):
    order = data.draw(st.permutations(range(len(records))))
    labels = np.empty(len(records), np.int64)
    labels[order] = np.minimum(np.arange(len(records)) // k, len(records) // k - 1)

    assert 2 * flips_of(records, labels) <= price_of(stars, records, labels)


@given(records=sets, k=st.integers(2, 3))
def test_suppression_is_within_a_factor_of_the_fewest_stars(records, k):
    labels = suppression(Records.from_sets(records), Params(k=k)).labels

    a = 2 * harmonic(2 * k - 1)
    assert price_of(stars, records, labels) <= a * optimum(records, k, stars)


@given(records=sets, k=st.integers(2, 3))
def test_the_fewest_stars_are_at_most_2k_minus_1_times_the_fewest_flips(records, k):
    assert optimum(records, k, stars) <= (2 * k - 1) * optimum(records, k, flips)


@given(records=sets, k=st.integers(2, 3))
def test_splitting_a_group_of_2k_never_costs_more(records, k):
    halves = records[:k], records[k:]

    for price in (flips, stars):
        if len(records) >= 2 * k:
            assert price(halves[0]) + price(halves[1]) <= price(records)
