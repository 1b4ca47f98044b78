"""Opening frequent itemsets as centers, and the note when the itemsets are incomplete."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping import itemsets
from setanon_core.grouping.starts.halving import halving
from setanon_core.grouping.starts.open_itemsets import CUT_OFF, open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def instances(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        records = random_records(rng, n, int(rng.integers(2, 9)), (None, n // 2 + 1, 4)[seed % 3])
        params = Params(int(rng.integers(2, 5)), operations=("both", "deletions")[seed % 2])
        yield records, params


def test_every_group_has_k_users_and_a_common_item():
    for records, params in instances(80):
        labels = open_itemsets(records, params).labels
        assert (fewest_users(records, labels.tolist()) or params.k) >= params.k
        masks = records.bitmasks()
        for label in set(labels.tolist()) - {WITHDRAWN}:
            common = -1
            for i in np.flatnonzero(labels == label):
                common &= masks[i]
            assert common  # the opened center is a subset of every member


def test_withdrawn_records_of_k_users_have_no_common_item():
    for records, params in instances(80):
        labels = open_itemsets(records, params).labels
        withdrawn = np.flatnonzero(labels == WITHDRAWN)
        for item in range(records.width):
            containing = [i for i in withdrawn if records.bitmasks()[i] >> item & 1]
            assert len({int(records.users[i]) for i in containing}) < params.k


def test_equal_records_have_equal_labels():
    for records, params in instances(40):
        labels = open_itemsets(records, params).labels
        for rank in np.unique(records.ranks):
            assert len(np.unique(labels[records.ranks == rank])) == 1


def test_the_cost_is_at_most_that_of_withdrawing_everything():
    for records, params in instances(40):
        labels = open_itemsets(records, params).labels
        assert grouping_cost(records, labels.tolist(), params.operations) <= len(records.items)


def test_large_itemsets_open_first_then_those_of_low_support():
    records = Records.from_sets([{1, 2, 3}, {1, 2, 3}, {1, 2}, {1, 2}, {1}, {1}])
    labels = open_itemsets(records, Params(2)).labels.tolist()
    assert labels[0] == labels[1] != labels[2] == labels[3] != labels[4] == labels[5]
    # {2} has support 2, {1} has support 3: opening {1} first would leave one record for {2}.
    records = Records.from_sets([{1, 2}, {1, 3}, {1, 4}, {2, 5}])
    labels = open_itemsets(records, Params(2)).labels.tolist()
    assert labels[0] == labels[3] != labels[1] == labels[2]


@pytest.mark.parametrize("limit", ["MAX_ITEMS", "BUDGET"])
@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_with_incomplete_itemsets_a_note_is_added_and_duplicates_of_k_users_are_groups(
    operations, limit, monkeypatch
):
    monkeypatch.setattr(itemsets, "PER_ITEM", 0)
    monkeypatch.setattr(itemsets, limit, 1)
    sets = [set(range(20))] * 3 + [set(range(15, 40))] * 4 + [{0, 1}] * 2
    grouping = open_itemsets(Records.from_sets(sets), Params(3, operations=operations))
    assert grouping.notes == (CUT_OFF,)
    assert len(set(grouping.labels[:3].tolist())) == len(set(grouping.labels[3:7].tolist())) == 1
    assert WITHDRAWN not in grouping.labels[:7]
    assert grouping.labels[0] != grouping.labels[3]


def test_with_complete_itemsets_there_is_no_note():
    grouping = open_itemsets(Records.from_sets([{1, 2}, {1, 2}]), Params(2))
    assert grouping.notes == ()
    assert not grouping.proven_optimal


def test_for_additions_the_result_is_that_of_halving():
    records = random_records(np.random.default_rng(1), 40, 6)
    params = Params(3, operations="additions")
    assert (open_itemsets(records, params).labels == halving(records, params).labels).all()


@pytest.mark.parametrize("operations", OPERATIONS)
def test_many_records_of_one_user_do_not_open_a_center(operations):
    records = Records.from_sets([{1, 2}] * 9 + [{3}], [0] * 9 + [1])
    labels = open_itemsets(records, Params(2, operations=operations)).labels
    assert (fewest_users(records, labels.tolist()) or 2) >= 2
