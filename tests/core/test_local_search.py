"""Local search and perturbation: the cost never rises, every group keeps k users."""

import numpy as np
import pytest
from support.groupings import feasible_groupings
from support.oracles import fewest_users, grouping_cost, random_records

from setanon_core.columns.records import Records
from setanon_core.grouping.improve import local_search as module
from setanon_core.grouping.improve.local_search import local_search, perturb
from setanon_core.grouping.improve.reopen import reopen
from setanon_core.grouping.starts.exact import optimum
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params


def check_improved(records, before, after, params):
    """Check that `after` costs at most as much as `before` and is feasible."""
    operations = params.operations
    assert after.shape == before.shape
    assert grouping_cost(records, after.tolist(), operations) <= grouping_cost(
        records, before.tolist(), operations
    )
    assert (fewest_users(records, after.tolist()) or params.k) >= params.k
    assert operations != "additions" or (after >= 0).all()


def same_groups(a, b):
    return len(np.unique(a)) == len(np.unique(b)) == len(np.unique(np.stack((a, b)), axis=1).T)


@pytest.mark.parametrize(("improve", "count"), [(local_search, 60), (perturb, 24), (reopen, 60)])
def test_the_cost_never_rises_and_every_group_keeps_k_users(improve, count):
    for records, labels, params in feasible_groupings(count):
        original = labels.copy()
        check_improved(records, labels, improve(records, labels, params), params)
        assert (labels == original).all()


@pytest.mark.parametrize("size", [2, 5, 9])
def test_a_search_in_many_small_blocks_never_raises_the_cost(size, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", size)
    for records, labels, params in feasible_groupings(40):
        check_improved(records, labels, local_search(records, labels, params), params)


def test_a_group_too_large_for_a_block_is_not_merged_with_others(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 2)
    records = Records.from_sets([{1}] * 6 + [{2}] * 2 + [{3}] * 2, [0, 0, 0, 0, 0, 1, 2, 3, 4, 5])
    for label in range(5, 30):
        labels = np.array([label] * 6 + [1, 1, 0, 0])
        improved = local_search(records, labels, Params(2))
        assert grouping_cost(records, improved.tolist(), "both") == 0


@pytest.mark.parametrize("improve", [local_search, perturb, reopen])
def test_the_cost_of_an_optimal_grouping_does_not_change(improve):
    for seed in range(30):
        records = random_records(np.random.default_rng(seed), 9, 5, (None, 5)[seed % 2])
        params = Params(2 + seed % 2, operations=OPERATIONS[seed % 3])
        if records.n_users < params.k:
            continue
        best, labels = optimum(records, params)
        improved = improve(records, labels, params)
        assert grouping_cost(records, improved.tolist(), params.operations) == best
        if improve is local_search:
            assert same_groups(improved, labels)


def test_a_second_search_changes_nothing():
    for records, labels, params in feasible_groupings(30):
        once = local_search(records, labels, params)
        assert same_groups(local_search(records, once, params), once)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_one_large_group_is_split_if_that_lowers_the_cost(operations):
    records = Records.from_sets([{1, 2}] * 4 + [{3, 4}] * 4 + [{5}] * 4)
    improved = local_search(records, np.zeros(12, np.int64), Params(2, operations=operations))
    assert grouping_cost(records, improved.tolist(), operations) == 0


def test_perturbation_is_deterministic_for_a_seed():
    records = random_records(np.random.default_rng(5), 40, 8)
    labels = np.arange(40) // 4
    for seed in (0, 1):
        first, second = (perturb(records, labels, Params(3, seed=seed)) for _ in range(2))
        assert (first == second).all()


def test_perturbation_returns_the_labels_of_large_inputs_unchanged():
    records = random_records(np.random.default_rng(6), module.PERTURB_LIMIT + 1, 8)
    labels = np.zeros(len(records), np.int64)
    assert perturb(records, labels, Params(3)) is labels


def test_withdrawn_records_are_grouped_if_that_lowers_the_cost():
    records = Records.from_sets([{1, 2}, {1, 2}, {1, 2, 3}, {4}])
    improved = local_search(records, np.full(4, WITHDRAWN), Params(2))
    assert grouping_cost(records, improved.tolist(), "both") == 2
    assert reopen(records, np.full(4, WITHDRAWN), Params(2)).tolist() == [0, 0, 0, WITHDRAWN]
