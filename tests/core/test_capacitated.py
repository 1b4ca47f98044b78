"""Shipments between sites: which short sites are filled and which are emptied."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.grouping.starts.capacitated import Sites, fill_or_empty, fill_or_push
from setanon_core.model.groups import WITHDRAWN


def sites_on_a_line(positions, records, to_withdrawal):
    """Sites and records as points on a line; every record is a distinct set."""
    positions, records = np.asarray(positions), np.asarray(records)
    return Sites(
        between=np.abs(np.subtract.outer(positions, positions)),
        to_sets=np.abs(np.subtract.outer(positions, records)),
        set_of=np.arange(len(records)),
        to_withdrawal=np.full(len(positions), to_withdrawal),
    )


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


def test_a_short_site_is_filled_with_the_records_of_the_least_detour():
    # Site 0 has two users, site 1 has five; the records at 3 and 4 are the nearest to site 0.
    records = [0, 0, 3, 4, 5, 6, 6]
    labels = np.array([0, 0, 1, 1, 1, 1, 1])

    moved = fill_or_push(labels, np.arange(7), sites_on_a_line([0, 5], records, 9), k=3)

    assert moved.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_a_site_that_cannot_be_filled_is_merged_or_withdrawn_whichever_is_nearer():
    records, labels = [0, 0, 5, 5, 5], np.array([0, 0, 1, 1, 1])

    for to_withdrawal, site in ((9, 1), (5, 1), (4, WITHDRAWN)):
        sites = sites_on_a_line([0, 5], records, to_withdrawal)
        moved = fill_or_push(labels, np.arange(5), sites, k=3)
        assert moved.tolist() == [site, site, 1, 1, 1]


@given(st.data(), st.integers(2, 4))
def test_afterwards_every_site_has_k_users_or_no_record(data, k):
    positions = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=5))
    n = data.draw(st.integers(1, 14))
    columns = [st.integers(0, 20), st.integers(0, 8), st.integers(-1, len(positions) - 1)]
    records, users, labels = (
        np.array(data.draw(st.lists(column, min_size=n, max_size=n))) for column in columns
    )

    moved = fill_or_push(labels, users, sites_on_a_line(positions, records, 7), k)

    for site in set(moved.tolist()) - {WITHDRAWN}:
        assert len(set(users[moved == site].tolist())) >= k
    assert (moved[labels == WITHDRAWN] == WITHDRAWN).all()
