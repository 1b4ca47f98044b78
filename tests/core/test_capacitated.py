"""Shipments between sites: which short sites are filled and which are emptied."""

import numpy as np

from setanon_core.grouping.starts.capacitated import fill_or_empty


def test_a_short_site_is_filled_from_the_nearest_surplus():
    loads = np.array([2, 5, 9])
    distances = np.array([[0, 4, 1], [4, 0, 4], [1, 4, 0]])

    assert fill_or_empty(loads, distances, k=3) == [(2, 0, 1)]


def test_without_a_surplus_a_short_site_with_a_near_site_is_emptied():
    loads = np.array([2, 3, 3])
    distances = np.array([[0, 1, 9], [1, 0, 9], [9, 9, 0]])

    assert fill_or_empty(loads, distances, k=3) == []


def test_one_emptied_site_fills_two_others():
    loads = np.array([2, 2, 2])
    distances = np.array([[0, 1, 1], [1, 0, 2], [1, 2, 0]])

    assert sorted(fill_or_empty(loads, distances, k=3)) == [(0, 1, 1), (0, 2, 1)]
