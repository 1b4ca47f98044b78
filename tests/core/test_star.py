"""Star greedy: every group has k users and is cheaper than withdrawal; large inputs in blocks."""

import numpy as np
import pytest
from support.oracles import fewest_users, group_cost, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.starts import star as module
from setanon_core.grouping.starts.halving import halving
from setanon_core.grouping.starts.star import star
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params


def instances(count, largest=50):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, largest))
        records = random_records(rng, n, int(rng.integers(2, 8)), (None, n // 2 + 1, 4)[seed % 3])
        yield records, Params(int(rng.integers(2, 5)), operations=("both", "deletions")[seed % 2])


@pytest.mark.parametrize("block", [module.STAR_BLOCK, 7])
def test_every_group_has_k_users_and_costs_less_than_withdrawing_it(block, monkeypatch):
    monkeypatch.setattr(module, "STAR_BLOCK", block)
    for records, params in instances(60):
        labels = star(records, params).labels
        assert (fewest_users(records, labels.tolist()) or params.k) >= params.k
        masks = records.bitmasks()
        for label in set(labels.tolist()) - {WITHDRAWN}:
            group = [masks[i] for i in np.flatnonzero(labels == label)]
            withdrawal_cost = sum(mask.bit_count() for mask in group)
            assert group_cost(group, params.operations) < withdrawal_cost


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_equal_records_of_k_users_cost_nothing(operations):
    records = Records.from_sets([{1, 2}] * 3 + [{3, 4, 5}] * 4 + [{6}])
    labels = star(records, Params(3, operations=operations)).labels
    assert grouping_cost(records, labels.tolist(), operations) == 1
    assert labels[-1] == WITHDRAWN


def test_a_remaining_record_joins_the_nearest_star_if_cheaper_than_withdrawal():
    records = Records.from_sets([{1, 2, 3}] * 3 + [{1, 2, 3, 4}, {3}])
    labels = star(records, Params(3)).labels.tolist()
    assert labels[3] == labels[0]
    assert labels[4] == WITHDRAWN  # it would need two additions


@pytest.mark.parametrize("operations", ["both", "deletions"])
def test_a_center_need_not_be_a_record(operations):
    # All records differ, and none is a subset of the others: the best center is {1, 2, 3}.
    records = Records.from_sets([{1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3, 6}])
    labels = star(records, Params(3, operations=operations)).labels
    assert grouping_cost(records, labels.tolist(), operations) == 3


def test_groups_of_different_blocks_have_different_labels(monkeypatch):
    monkeypatch.setattr(module, "STAR_BLOCK", 4)
    records = Records.from_sets([{i // 2} for i in range(40)])
    labels = star(records, Params(2)).labels
    assert grouping_cost(records, labels.tolist(), "both") == 0
    assert len(np.unique(labels)) == 20


@pytest.mark.parametrize("limit", [1, 5])
def test_with_few_candidate_centers_every_group_has_k_users(limit, monkeypatch):
    monkeypatch.setattr(module, "MAX_CENTERS", limit)
    for records, params in instances(20):
        labels = star(records, params).labels
        assert (fewest_users(records, labels.tolist()) or params.k) >= params.k


def test_for_additions_the_result_is_that_of_halving():
    records = random_records(np.random.default_rng(1), 40, 6)
    params = Params(3, operations="additions")
    assert (star(records, params).labels == halving(records, params).labels).all()


def test_empty_records_are_withdrawn():
    assert star(Records.from_sets([set()] * 5), Params(2)).labels.tolist() == [WITHDRAWN] * 5
