"""Duplicates that need no grouping, against a count by set and user."""

import numpy as np
import pytest
from support.oracles import random_records

from setanon_core import anonymize
from setanon_core.columns.records import Records
from setanon_core.grouping.improve import duplicates as module
from setanon_core.grouping.improve.duplicates import MIN_REMAINING, surplus_duplicates
from setanon_core.params import OPERATIONS, Params


def surplus_by_count(records, k, min_remaining):
    """Mark the records of the users beyond those that must remain, set by set.

    `min_remaining` * k users remain, and k - 1 for each undersized set with the rarest item.
    """
    masks, users = records.bitmasks(), records.users.tolist()
    users_of = {
        mask: sorted({user for user, other in zip(users, masks, strict=True) if other == mask})
        for mask in set(masks)
    }
    undersized = [mask for mask, owners in users_of.items() if len(owners) < k]
    surplus = [False] * len(masks)
    for mask in set(masks) - {0}:
        items = [item for item in range(mask.bit_length()) if mask >> item & 1]
        demand = min(sum(other >> item & 1 for other in undersized) for item in items)
        remaining = min_remaining * k + (k - 1) * demand
        if len(users_of[mask]) >= remaining + k:
            for i, other in enumerate(masks):
                surplus[i] |= other == mask and users[i] in users_of[mask][remaining:]
    return surplus


@pytest.mark.parametrize("min_remaining", [1, 2, 3])
def test_the_users_beyond_those_that_must_remain_are_surplus(min_remaining, monkeypatch):
    monkeypatch.setattr(module, "MIN_REMAINING", min_remaining)
    any_surplus = False
    for seed in range(30):
        records = random_records(np.random.default_rng(seed), 80, 3, (None, 40, 20)[seed % 3])
        for k in (2, 3):
            surplus = surplus_duplicates(records, Params(k)).tolist()
            assert surplus == surplus_by_count(records, k, min_remaining)
            any_surplus |= any(surplus)
    assert any_surplus


def test_surplus_records_of_a_set_have_k_users_and_the_minimum_remains():
    for k in (2, 5):
        minimum = MIN_REMAINING * k
        for n in range(minimum, minimum + 2 * k):
            records = Records.from_sets([{1, 2}] * n + [{3}])
            surplus = int(surplus_duplicates(records, Params(k)).sum())
            assert surplus == (n - minimum if n >= minimum + k else 0)


@pytest.mark.parametrize("operations", OPERATIONS)
def test_empty_records_and_sets_of_few_users_are_not_surplus(operations):
    params = Params(2, operations=operations)
    assert not surplus_duplicates(Records.from_sets([set()] * 100), params).any()
    assert not surplus_duplicates(Records.from_sets([{1}] * 100, [0, 1] * 50), params).any()


def test_of_equal_records_of_one_user_all_or_none_are_surplus():
    users = [i // 3 for i in range(120)]
    surplus = surplus_duplicates(Records.from_sets([{1}] * 120, users), Params(2))
    assert surplus.any()
    for user in range(40):
        assert len(set(surplus[3 * user : 3 * user + 3].tolist())) == 1


def test_enough_duplicates_remain_to_complete_all_undersized_sets():
    common = [{"a", "b"}] * 1_000
    undersized = [{"a", "b", f"c{i}", f"d{i}", f"e{i}"} for i in range(100) for _ in range(2)]

    result = anonymize(common + undersized, k=3, min_owners=0)

    # Optimal: one duplicate joins each pair, with three additions.
    assert result.cost.total == 300
