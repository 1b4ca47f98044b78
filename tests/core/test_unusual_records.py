"""Records of unusual shape: small inputs that would hang if a stage needed exponential time."""

import subprocess
import sys

import numpy as np
import pytest

from setanon_core import anonymize, verify
from setanon_core.params import METHODS, OPERATIONS

POPULARITY = np.arange(1, 301) ** -0.8 / (np.arange(1, 301) ** -0.8).sum()

all_methods = pytest.mark.parametrize("method", METHODS)
all_operations = pytest.mark.parametrize("operations", OPERATIONS)


def baskets(rng, n):
    """Few items per basket, with skewed popularity."""
    return [set(rng.choice(300, max(1, rng.poisson(3)), p=POPULARITY).tolist()) for _ in range(n)]


def anonymize_and_check(sets, k, users=None, **params):
    result = anonymize(sets, k, users=users, **params)
    assert verify(result.records, k, users=users).ok
    assert result.lower_bound <= result.cost.total
    after = [record or frozenset() for record in result.records]
    assert result.cost.total == sum(len(old ^ new) for old, new in zip(sets, after, strict=True))
    return result


@all_methods
@all_operations
def test_5000_copies_of_one_record_are_one_group_without_cost(method, operations):
    result = anonymize_and_check([{1, 2, 3}] * 5000, 3, method=method, operations=operations)
    assert (result.cost.total, len(result.groups)) == (0, 1)
    assert result.proven_optimal


@all_methods
@all_operations
def test_200_copies_each_of_ten_long_records_cost_nothing(method, operations):
    # Itemsets must be mined on distinct records, not on 2,000 copies.
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (10, 14))
    rows = [set((2 * np.arange(14) + row).tolist()) for row in values]
    result = anonymize_and_check(rows * 200, 20, method=method, operations=operations)
    assert result.cost.total == 0


@all_methods
@all_operations
def test_one_record_of_a_thousand_items_does_not_make_baskets_expensive(method, operations):
    sets = [*baskets(np.random.default_rng(1), 200), set(range(1000))]
    result = anonymize_and_check(sets, 3, method=method, operations=operations)
    assert (result.records[-1] is None) or len(result.records[-1]) < 300
    assert result.cost.total < sum(map(len, sets)) + 1500


@all_operations
def test_several_long_random_records_are_anonymized(operations):
    rng = np.random.default_rng(2)
    sets = [set(rng.choice(500, 250, replace=False).tolist()) for _ in range(20)]
    anonymize_and_check([*sets, *baskets(rng, 60)], 3, operations=operations)


@all_methods
@all_operations
def test_groups_form_although_one_user_has_nearly_all_records(method, operations):
    rng = np.random.default_rng(3)
    sets = baskets(rng, 1000)
    users = [0 if rng.random() < 0.95 else i for i in range(1000)]
    result = anonymize_and_check(sets, 3, users, method=method, operations=operations)
    assert result.groups


@all_methods
@all_operations
def test_all_records_of_a_single_user_are_withdrawn(method, operations):
    sets = baskets(np.random.default_rng(4), 500)
    result = anonymize_and_check(sets, 2, ["u"] * 500, method=method, operations=operations)
    assert result.records == (None,) * 500
    assert any("Every record was withdrawn" in warning for warning in result.warnings) or (
        operations == "additions"
    )


@all_methods
@all_operations
def test_hundreds_of_records_with_a_common_item_keep_it(method, operations):
    rng = np.random.default_rng(5)
    sets = [{99, *np.flatnonzero(rng.random(12) < 0.5).tolist()} for _ in range(400)]
    result = anonymize_and_check(sets, 5, method=method, operations=operations)
    # All share item 99, so k withdrawn records would form a group.
    assert result.cost.withdrawals < 5
    assert all(record is None or 99 in record for record in result.records)


@all_methods
@all_operations
def test_k_above_the_number_of_users_withdraws_everything(method, operations):
    sets = [{1, 2}] * 30
    result = anonymize_and_check(sets, 31, method=method, operations=operations)
    assert result.records == (None,) * 30
    assert result.proven_optimal
    all_users = anonymize_and_check(sets, 30, method=method, operations=operations)
    assert all_users.cost.total == 0


@all_operations
def test_records_without_common_items_are_withdrawn_or_filled_up(operations):
    sets = [{2 * i, 2 * i + 1} for i in range(300)]
    result = anonymize_and_check(sets, 2, operations=operations)
    assert result.records == (None,) * 300
    free = anonymize_and_check(sets, 2, operations=operations, min_owners=0)
    assert (free.cost.withdrawals == 0) is (operations == "additions")


@all_operations
def test_items_and_users_may_have_different_types(operations):
    sets = [{1, "1", (1,), 2.5}, {1, "1", (1,)}, {1, "1", frozenset({1})}]
    result = anonymize_and_check(sets, 2, ["1", 1, (1,)], operations=operations, min_owners=0)
    assert result.groups == ((0, 1, 2),)
    assert {1, "1"} <= set(result.records[0])


def test_importing_the_package_imports_no_heavy_library():
    code = "import sys, setanon_core; print(*sys.modules)"
    loaded = subprocess.run(  # noqa: S603 - fixed code in a new interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "setanon_core.pipeline.anonymize" in loaded
    heavy = {"scipy.optimize", "pandas", "pyarrow", "dagster", "duckdb", "setanon_dagster"}
    assert not heavy & set(loaded)
