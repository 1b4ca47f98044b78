"""Example 1, Figure 1: two additions and one deletion make five records 2-anonymous."""

import numpy as np
import pytest
from support.brute_force import flips, optimum

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.grouping.starts.facility_location import facility_location
from setanon_core.grouping.starts.suppression import suppression
from setanon_core.params import Params

FIGURE_1A = [{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}]
FIGURE_1B = [{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {4, 5}, {4, 5}]


def published(records, labels):
    rows, centers = flip(records, labels)
    bounds = centers.offsets
    names = [
        {records.vocabulary[item] for item in centers.items[bounds[row] : bounds[row + 1]]}
        for row in rows
    ]
    return names, cost_of(records, rows, centers)


def test_the_groups_of_the_example_flip_to_figure_1b():
    names, cost = published(Records.from_sets(FIGURE_1A), np.array([0, 0, 0, 1, 1]))

    assert names == FIGURE_1B
    assert (cost.additions, cost.deletions, cost.withdrawals) == (2, 1, 0)


def test_no_2_anonymous_transformation_costs_less_than_3():
    assert optimum([frozenset(record) for record in FIGURE_1A], 2, flips) == 3


@pytest.mark.parametrize("grouper", [suppression, facility_location])
def test_both_algorithms_find_figure_1b(grouper):
    records = Records.from_sets(FIGURE_1A)

    names, cost = published(records, grouper(records, Params(k=2)).labels)

    assert names == FIGURE_1B
    assert cost.total == 3
