"""Centers that are opened for records which their groups can spare."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.improve.candidates import NO_CANDIDATE, CandidateRecords
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def reopened(sets, labels, k, users=None, operations="both"):
    data = Records.from_sets(sets, users)
    asked = Params(k, operations=operations, min_owners=0)
    return data, asked, reopen(data, np.array(labels), asked)


def test_two_that_gain_take_a_third_along_that_loses_less():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    data, asked, labels = reopened(sets, [0] * 6, 3)
    assert grouping_cost(data, [0] * 6, asked.operations) == 2
    assert grouping_cost(data, labels, asked.operations) == 1
    assert fewest_users(data, labels) == 3


def test_nobody_is_taken_from_a_group_that_needs_everybody():
    sets = [{1, 2}, {1, 2}, {1}, {1}]
    _, _, labels = reopened(sets, [0] * 4, 3)
    assert len(set(labels.tolist())) == 1


def test_a_second_record_of_a_user_makes_no_crowd():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    _, _, labels = reopened(sets, [0] * 6, 3, users="aabcde")
    assert len(set(labels.tolist())) == 1


def test_a_withdrawn_record_may_fill_a_group_with_which_it_shares_nothing():
    sets = [{1, 2}, {1, 2}, {9}]
    data, asked, labels = reopened(sets, [WITHDRAWN] * 3, 3)
    assert grouping_cost(data, labels, asked.operations) == 3
    assert labels.tolist() == [0, 0, 0]


def test_nothing_is_added_where_only_deletions_are_allowed():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    data, asked, labels = reopened(sets, [0] * 6, 3, operations="deletions")
    assert grouping_cost(data, labels, asked.operations) == 2


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 9])
def test_it_never_costs_more_and_every_group_keeps_k_users(operations, users):
    rng = np.random.default_rng(5)
    gained = 0
    for _ in range(60):
        data = random_records(rng, int(rng.integers(4, 40)), int(rng.integers(2, 9)), users)
        asked = Params(int(rng.integers(2, 5)), operations=operations, min_owners=0)
        if data.n_users < asked.k:
            continue
        before = open_itemsets(data, asked).labels
        after = reopen(data, before, asked)
        change = grouping_cost(data, before, asked.operations) - grouping_cost(
            data, after, asked.operations
        )
        assert change >= 0
        gained += change
        if (after != WITHDRAWN).any():
            assert fewest_users(data, after) >= asked.k
    assert gained > 0 or operations == "additions"


@given(st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=1, max_size=9), st.data())
def test_fillers_are_those_who_hold_the_itemset_are_not_gone_and_save_little(sets, data):
    records = Records.from_sets(sets)
    n = len(sets)
    numbers = st.lists(st.integers(-2, 3), min_size=n, max_size=n)
    saved = np.array(data.draw(numbers))
    may_come = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    crowd = DistinctSets(records)
    found = frequent_itemsets(crowd.sets, crowd.weights, 1)
    fillers = CandidateRecords(crowd, found, saved, may_come)
    own = [set(records.items[low:high].tolist()) for low, high in _pairs(records.offsets)]
    itemsets = [set(found.sets.items[a:b].tolist()) for a, b in _pairs(found.sets.offsets)]
    for _ in range(3):  # asked again after some have gone
        for c, itemset in enumerate(itemsets):
            able = [i for i in range(n) if itemset <= own[i] and may_come[i]]
            assert fillers.min_saving[c] == min((saved[i] for i in able), default=NO_CANDIDATE)
            due = sorted(i for i in able if saved[i] <= 1 and not fillers.unavailable[i])
            assert sorted(fillers.containing(c, 1)) == due
        fillers.unavailable[data.draw(st.integers(0, n - 1))] = True


def _pairs(bounds):
    return zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
