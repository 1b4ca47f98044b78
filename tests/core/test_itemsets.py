"""Frequent itemsets against a miner that tries every subset of every record."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping import itemsets as module
from setanon_core.grouping.itemsets import frequent_itemsets

SETS = st.lists(st.frozensets(st.integers(0, 6)), max_size=8)


def encoded(sets):
    return Records.from_columns(
        [item for one in sets for item in one], np.cumsum([0, *map(len, sets)]), None, range(1200)
    ).sets


def mined(sets, weights, k, deepest=99):
    """Every itemset of up to `deepest` items that k records hold, with its holders."""
    support = Counter()
    for one, weight in zip(sets, weights, strict=True):
        for size in range(1, min(len(one), deepest) + 1):
            for itemset in combinations(sorted(one), size):
                support[itemset] += weight
    return {
        itemset: ([i for i, one in enumerate(sets) if one >= set(itemset)], weight)
        for itemset, weight in support.items()
        if weight >= k
    }


def as_dict(found):
    """What was found, in the same form."""
    pairs = zip(found.sets.offsets[:-1], found.sets.offsets[1:], strict=True)
    names = [tuple(found.sets.items[low:high].tolist()) for low, high in pairs]
    assert len(set(names)) == len(names) == len(found.support)
    return {
        name: (
            found.supersets[found.superset_offsets[c] : found.superset_offsets[c + 1]].tolist(),
            int(found.support[c]),
        )
        for c, name in enumerate(names)
    }


@given(SETS, st.integers(1, 4), st.data())
def test_all_frequent_itemsets_are_found_with_their_holders(sets, k, data):
    weight = st.integers(1, 3)
    weights = data.draw(st.lists(weight, min_size=len(sets), max_size=len(sets)))
    found = frequent_itemsets(encoded(sets), np.array(weights, np.int64), k)
    assert found.complete
    assert as_dict(found) == mined(sets, weights, k)
    sizes = found.sets.sizes.tolist()
    assert sizes == sorted(sizes)  # level by level, as those who read them rely on


@given(SETS, st.integers(1, 3), st.integers(1, 3))
def test_itemsets_stop_at_the_deepest_level_and_say_so(sets, k, deepest):
    weights = [1] * len(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_ITEMS", deepest)
        found = frequent_itemsets(encoded(sets), np.array(weights, np.int64), k)
    assert as_dict(found) == mined(sets, weights, k, deepest)
    if any(len(itemset) > deepest for itemset in mined(sets, weights, k)):
        assert not found.complete


@given(SETS, st.integers(1, 3), st.integers(0, 30))
def test_a_budget_that_ends_is_told_and_what_is_found_is_still_true(sets, k, budget):
    weights = [1] * len(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", budget)
        patch.setattr(module, "PER_ITEM", 0)
        found = frequent_itemsets(encoded(sets), np.array(weights, np.int64), k)
    expected, got = mined(sets, weights, k), as_dict(found)
    assert got.keys() <= expected.keys()
    for itemset, (holders, support) in got.items():
        assert set(holders) <= set(expected[itemset][0])
        assert k <= support == len(holders)
        assert holders == sorted(holders)
    if got != expected:
        assert not found.complete


def test_the_longest_sets_stop_growing_first():
    sets = [set(range(30)), set(range(30)), {0, 1}, {0, 1}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", 10)
        patch.setattr(module, "PER_ITEM", 0)
        found = frequent_itemsets(encoded(sets), np.ones(4, np.int64), 2)
    assert not found.complete
    assert as_dict(found)[0, 1] == ([2, 3], 2)


@pytest.mark.parametrize("sets", [[], [set()], [set(), set()], [{1}, {2}]])
def test_where_nothing_is_frequent_nothing_is_found(sets):
    found = frequent_itemsets(encoded(sets), np.ones(len(sets), np.int64), 2)
    assert (len(found.sets), len(found.supersets), len(found.support)) == (0, 0, 0)
    assert found.complete


def test_long_sets_do_not_blow_up():
    rng = np.random.default_rng(0)
    sets = [set(rng.choice(1200, 700, replace=False).tolist()) for _ in range(6)]
    found = frequent_itemsets(encoded(sets), np.ones(6, np.int64), 2)
    assert not found.complete
    assert len(found.supersets) <= module.MAX_ITEMS * module.BUDGET + 6 * 700


@given(SETS, st.integers(1, 3), st.data())
def test_the_itemsets_that_lack_one_item_are_found(sets, k, data):
    budget = data.draw(st.sampled_from([module.BUDGET, 5, 12]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", budget)
        patch.setattr(module, "PER_ITEM", 0)
        found = frequent_itemsets(encoded(sets), np.ones(len(sets), np.int64), k)
    names = list(as_dict(found))
    some = st.lists(st.sampled_from(range(len(names))), unique=True) if names else st.just([])
    chosen = data.draw(some)

    subsets = found.subsets_without_one_item(np.array(chosen, np.int64))

    for c, row in zip(chosen, subsets.tolist(), strict=True):
        due = {names[c][:at] + names[c][at + 1 :] for at in range(len(names[c]))} - {()}
        assert sorted(names[at] for at in row if at >= 0) == sorted(due)
