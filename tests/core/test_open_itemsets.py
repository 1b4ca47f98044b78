"""Opening itemsets as centers: who gets one, and what is told when not all could be tried."""

import numpy as np
import pytest
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping import itemsets
from setanon_core.grouping.starts.halving import halving
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def instances(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        data = random_records(rng, n, int(rng.integers(2, 9)), (None, n // 2 + 1, 4)[seed % 3])
        params = Params(int(rng.integers(2, 5)), operations=("both", "deletions")[seed % 2])
        yield data, params


def test_every_group_has_k_users_and_shares_an_item():
    for data, params in instances(80):
        labels = open_itemsets(data, params).labels
        assert (fewest_users(data, labels.tolist()) or params.k) >= params.k
        masks = data.bitmasks()
        for label in set(labels.tolist()) - {WITHDRAWN}:
            common = -1
            for i in np.flatnonzero(labels == label):
                common &= masks[i]
            assert common  # the center that was opened lies inside every member


def test_what_is_left_over_could_not_have_opened_a_center():
    for data, params in instances(80):
        labels = open_itemsets(data, params).labels
        left = np.flatnonzero(labels == WITHDRAWN)
        for item in range(data.width):
            holders = [i for i in left if data.bitmasks()[i] >> item & 1]
            assert len({int(data.users[i]) for i in holders}) < params.k


def test_equal_records_share_their_fate():
    for data, params in instances(40):
        labels = open_itemsets(data, params).labels
        for rank in np.unique(data.ranks):
            assert len(np.unique(labels[data.ranks == rank])) == 1


def test_it_is_never_dearer_than_withdrawing_everything():
    for data, params in instances(40):
        labels = open_itemsets(data, params).labels
        assert grouping_cost(data, labels.tolist(), params.operations) <= len(data.items)


def test_the_deepest_center_opens_first_and_the_scarcest_among_equals():
    data = Records.from_sets([{1, 2, 3}, {1, 2, 3}, {1, 2}, {1, 2}, {1}, {1}])
    labels = open_itemsets(data, Params(2)).labels.tolist()
    assert labels[0] == labels[1] != labels[2] == labels[3] != labels[4] == labels[5]
    # {2} has two holders, {1} has four: opened the other way round, {2} would be left with none.
    data = Records.from_sets([{1, 2}, {1, 3}, {1, 4}, {2, 5}])
    labels = open_itemsets(data, Params(2)).labels.tolist()
    assert labels[0] == labels[3] != labels[1] == labels[2]


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_a_cut_is_noted_and_what_k_users_share_whole_is_still_a_group(operations, monkeypatch):
    params = Params(3, operations=operations)
    sets = [set(range(20))] * 3 + [set(range(15, 40))] * 4 + [{0, 1}] * 2
    data = Records.from_sets(sets)
    for limit in ("MAX_ITEMS", "BUDGET"):
        monkeypatch.setattr(itemsets, "PER_ITEM", 0)
        monkeypatch.setattr(itemsets, limit, 1)
        grouping = open_itemsets(data, params)
        assert any("cut off" in note for note in grouping.notes)
        assert (
            len(set(grouping.labels[:3].tolist())) == len(set(grouping.labels[3:7].tolist())) == 1
        )
        assert WITHDRAWN not in grouping.labels[:7]
        assert grouping.labels[0] != grouping.labels[3]
        monkeypatch.undo()


def test_no_note_where_nothing_was_cut():
    grouping = open_itemsets(Records.from_sets([{1, 2}, {1, 2}]), Params(2))
    assert grouping.notes == ()
    assert not grouping.proven_optimal


def test_for_additions_records_are_halved():
    data = random_records(np.random.default_rng(1), 40, 6)
    params = Params(3, operations="additions")
    assert (open_itemsets(data, params).labels == halving(data, params).labels).all()


@pytest.mark.parametrize("operations", OPERATIONS)
def test_many_records_of_one_user_open_nothing(operations):
    data = Records.from_sets([{1, 2}] * 9 + [{3}], [0] * 9 + [1])
    labels = open_itemsets(data, Params(2, operations=operations)).labels
    assert (fewest_users(data, labels.tolist()) or 2) >= 2
