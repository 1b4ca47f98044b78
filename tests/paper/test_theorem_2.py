"""Theorem 2: centers among the data points cost less than twice the optimum."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import discrete, flips, optimum

groups = st.lists(st.frozensets(st.integers(0, 4)), min_size=2, max_size=7)
sets = st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=4, max_size=7)


def expected_cost(group):
    """E[Cost(S_rand)] of one group: the mean cost over all members as centers."""
    return Fraction(sum(len(center ^ record) for center in group for record in group), len(group))


@given(group=groups)
def test_the_expected_cost_of_a_random_center_is_the_sum_of_2_n1_n0_over_n(group):
    formula = Fraction(0)
    for item in frozenset().union(*group):
        n_1 = sum(item in record for record in group)
        formula += Fraction(2 * n_1 * (len(group) - n_1), len(group))

    assert expected_cost(group) == formula


@given(group=groups)
def test_the_expected_cost_is_at_most_2_minus_2_over_n_times_the_optimum(group):
    assert expected_cost(group) <= 2 * flips(group)
    assert expected_cost(group) <= Fraction(2 * (len(group) - 1), len(group)) * flips(group)


@given(records=sets, k=st.integers(2, 3))
def test_centers_among_the_records_cost_at_most_2_minus_2_over_2k_minus_1(records, k):
    factor = 2 * (1 - Fraction(1, 2 * k - 1))

    assert optimum(records, k, discrete) <= factor * optimum(records, k, flips)


def test_the_factor_is_tight():
    # Three different items: each record is 2 from the others, the empty center is 1 from all.
    records = [frozenset((item,)) for item in range(3)]

    assert optimum(records, 2, flips) == 3
    assert optimum(records, 2, discrete) == 4
