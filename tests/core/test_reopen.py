"""Opening additional centers for records that their groups can spare."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def reopen_sets(sets, labels, k, users=None, operations="both"):
    records = Records.from_sets(sets, users)
    params = Params(k, operations=operations, min_owners=0)
    return records, params, reopen(records, np.array(labels), params)


def test_two_records_that_gain_and_one_that_loses_less_open_a_group():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    records, params, labels = reopen_sets(sets, [0] * 6, 3)
    assert grouping_cost(records, [0] * 6, params.operations) == 2
    assert grouping_cost(records, labels, params.operations) == 1
    assert fewest_users(records, labels) == 3


def test_a_group_of_k_users_loses_no_record():
    sets = [{1, 2}, {1, 2}, {1}, {1}]
    _, _, labels = reopen_sets(sets, [0] * 4, 3)
    assert len(set(labels.tolist())) == 1


def test_a_second_record_of_a_user_does_not_count_for_a_new_group():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    _, _, labels = reopen_sets(sets, [0] * 6, 3, users="aabcde")
    assert len(set(labels.tolist())) == 1


def test_a_withdrawn_record_without_a_common_item_can_complete_a_group():
    sets = [{1, 2}, {1, 2}, {9}]
    records, params, labels = reopen_sets(sets, [WITHDRAWN] * 3, 3)
    assert grouping_cost(records, labels, params.operations) == 3
    assert labels.tolist() == [0, 0, 0]


def test_under_deletions_no_record_lacks_an_item_of_its_center():
    sets = [{1, 2}, {1, 2}, {1}, {1}, {1}, {1}]
    records, params, labels = reopen_sets(sets, [0] * 6, 3, operations="deletions")
    assert grouping_cost(records, labels, params.operations) == 2


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("users", [None, 9])
def test_the_cost_never_rises_and_every_group_keeps_k_users(operations, users):
    rng = np.random.default_rng(5)
    total_gain = 0
    for _ in range(60):
        records = random_records(rng, int(rng.integers(4, 40)), int(rng.integers(2, 9)), users)
        params = Params(int(rng.integers(2, 5)), operations=operations, min_owners=0)
        if records.n_users < params.k:
            continue
        before = open_itemsets(records, params).labels
        after = reopen(records, before, params)
        gain = grouping_cost(records, before, operations) - grouping_cost(
            records, after, operations
        )
        assert gain >= 0
        total_gain += gain
        if (after != WITHDRAWN).any():
            assert fewest_users(records, after) >= params.k
    assert total_gain > 0 or operations == "additions"
