"""Itemsets that are mined once and shared equal those mined separately for each threshold."""

import numpy as np
import pytest
from support.oracles import random_records

from setanon_core.grouping import itemsets as itemsets_module
from setanon_core.grouping import methods, mined_records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.itemsets import frequent_itemsets
from setanon_core.grouping.mined_records import MinedRecords, min_center_support, mine
from setanon_core.params import Params

LIMITS = [(10**6, 8), (0, 8), (40, 8), (300, 8), (10**6, 2), (10**6, 4), (300, 4)]
"""Pairs of a budget and a largest itemset size; some are exceeded by both thresholds, some by the
lower one only, some by none."""


def limit_mining(monkeypatch, budget, max_items):
    monkeypatch.setattr(itemsets_module, "BUDGET", budget)
    monkeypatch.setattr(itemsets_module, "PER_ITEM", 0)
    monkeypatch.setattr(itemsets_module, "MAX_ITEMS", max_items)


def instances(count, n=60):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        yield random_records(rng, n, int(rng.integers(3, 9)), (None, n // 2)[seed % 2])


@pytest.mark.parametrize(("budget", "max_items"), LIMITS)
def test_shared_itemsets_equal_separately_mined_ones(budget, max_items, monkeypatch):
    limit_mining(monkeypatch, budget, max_items)
    for seed, records in enumerate(instances(8)):
        k = 3 + seed % 6
        distinct = DistinctSets(records)
        shared = MinedRecords.from_records(records, k // 2 + 1)
        for min_support in (k, k // 2 + 1, k + 3):
            expected = frequent_itemsets(distinct.sets, distinct.weights, min_support)
            actual = shared.itemsets(min_support)
            assert actual.sets.items.tolist() == expected.sets.items.tolist()
            assert actual.sets.offsets.tolist() == expected.sets.offsets.tolist()
            assert actual.supersets.tolist() == expected.supersets.tolist()
            assert actual.superset_offsets.tolist() == expected.superset_offsets.tolist()
            assert actual.support.tolist() == expected.support.tolist()
            assert actual.complete is expected.complete
            assert actual.within_budget is expected.within_budget


@pytest.mark.parametrize("operations", ["both", "deletions"])
@pytest.mark.parametrize(("budget", "max_items"), LIMITS)
def test_sharing_changes_no_label_note_or_cost(budget, max_items, operations, monkeypatch):
    limit_mining(monkeypatch, budget, max_items)
    for seed, records in enumerate(instances(3, 210)):
        params = Params(2 + 2 * seed, operations=operations)
        shared = methods.group(records, params)
        with monkeypatch.context() as patch:
            patch.setattr(MinedRecords, "from_records", lambda records, _: records)
            separate = methods.group(records, params)
        assert shared.labels.tolist() == separate.labels.tolist()
        assert shared.notes == separate.notes
        assert shared.rounds == separate.rounds


def count_runs(monkeypatch):
    """List that grows by the threshold of each mining run."""
    thresholds = []

    def counted(sets, weights, min_support):
        thresholds.append(min_support)
        return frequent_itemsets(sets, weights, min_support)

    monkeypatch.setattr(mined_records, "frequent_itemsets", counted)
    return thresholds


def test_both_thresholds_are_mined_in_one_run(monkeypatch):
    records = random_records(np.random.default_rng(1), 300, 8)
    thresholds = count_runs(monkeypatch)
    methods.group(records, Params(5))
    assert thresholds == [min_center_support(Params(5))] == [3]


def test_a_run_over_budget_is_repeated_for_the_higher_threshold(monkeypatch):
    limit_mining(monkeypatch, 300, 8)
    records = random_records(np.random.default_rng(1), 300, 8)
    thresholds = count_runs(monkeypatch)
    methods.group(records, Params(5))
    assert thresholds == [3, 5]


def test_plain_records_are_mined_for_the_requested_threshold_only(monkeypatch):
    thresholds = count_runs(monkeypatch)
    mine(random_records(np.random.default_rng(1), 30, 5), 4)
    assert thresholds == [4]
