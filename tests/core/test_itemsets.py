"""Frequent itemsets against an enumeration of all subsets of all sets."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping import itemsets as module
from setanon_core.grouping.itemsets import frequent_itemsets, itemset_supports

SETS = st.lists(st.frozensets(st.integers(0, 6)), max_size=8)


def encode(sets):
    return Records.from_columns(
        [item for members in sets for item in members],
        np.cumsum([0, *map(len, sets)]),
        None,
        range(1200),
    ).sets


def mine_by_enumeration(sets, weights, min_support, max_items=99):
    """Every frequent itemset of at most `max_items` items: its supersets and support."""
    support = Counter()
    for members, weight in zip(sets, weights, strict=True):
        for size in range(1, min(len(members), max_items) + 1):
            for itemset in combinations(sorted(members), size):
                support[itemset] += weight
    return {
        itemset: ([i for i, members in enumerate(sets) if members >= set(itemset)], weight)
        for itemset, weight in support.items()
        if weight >= min_support
    }


def names_of(sets):
    pairs = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    return [tuple(sets.items[low:high].tolist()) for low, high in pairs]


def as_dict(itemsets):
    """The itemsets in the form of `mine_by_enumeration`."""
    names, offsets = names_of(itemsets.sets), itemsets.superset_offsets
    assert len(set(names)) == len(names) == len(itemsets.support)
    return {
        name: (
            itemsets.supersets[offsets[c] : offsets[c + 1]].tolist(),
            int(itemsets.support[c]),
        )
        for c, name in enumerate(names)
    }


def draw_weights(data, sets):
    weight = st.integers(1, 3)
    return data.draw(st.lists(weight, min_size=len(sets), max_size=len(sets)))


@given(SETS, st.integers(1, 4), st.data())
def test_all_frequent_itemsets_are_returned_with_their_supersets(sets, k, data):
    weights = draw_weights(data, sets)
    itemsets = frequent_itemsets(encode(sets), np.array(weights, np.int64), k)
    assert itemsets.complete
    assert itemsets.within_budget
    assert as_dict(itemsets) == mine_by_enumeration(sets, weights, k)
    sizes = itemsets.sets.sizes.tolist()
    assert sizes == sorted(sizes)  # callers rely on this order


@given(SETS, st.integers(1, 4), st.integers(2, 4), st.data())
def test_supports_are_those_of_an_enumeration(sets, k, max_items, data):
    weights = draw_weights(data, sets)
    mined, supports = itemset_supports(encode(sets), np.array(weights, np.int64), k, max_items)
    expected = mine_by_enumeration(sets, weights, k, max_items)
    assert dict(zip(names_of(mined), supports.tolist(), strict=True)) == {
        itemset: support for itemset, (_, support) in expected.items()
    }


@given(SETS, st.integers(1, 3), st.integers(1, 3))
def test_itemsets_stop_growing_at_the_size_limit_and_are_marked_incomplete(sets, k, max_items):
    weights = [1] * len(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_ITEMS", max_items)
        itemsets = frequent_itemsets(encode(sets), np.array(weights, np.int64), k)
    assert as_dict(itemsets) == mine_by_enumeration(sets, weights, k, max_items)
    assert itemsets.within_budget
    if any(len(itemset) > max_items for itemset in mine_by_enumeration(sets, weights, k)):
        assert not itemsets.complete


@given(SETS, st.integers(1, 3), st.integers(0, 30))
def test_an_exceeded_budget_is_reported_and_the_returned_itemsets_are_frequent(sets, k, budget):
    weights = [1] * len(sets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", budget)
        patch.setattr(module, "PER_ITEM", 0)
        itemsets = frequent_itemsets(encode(sets), np.array(weights, np.int64), k)
    expected, returned = mine_by_enumeration(sets, weights, k), as_dict(itemsets)
    assert returned.keys() <= expected.keys()
    for itemset, (supersets, support) in returned.items():
        assert set(supersets) <= set(expected[itemset][0])
        assert k <= support == len(supersets)
        assert supersets == sorted(supersets)
    if returned != expected:
        assert not itemsets.within_budget
        assert not itemsets.complete


def test_the_longest_sets_are_dropped_first_when_the_budget_is_exceeded():
    sets = [set(range(30)), set(range(30)), {0, 1}, {0, 1}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", 10)
        patch.setattr(module, "PER_ITEM", 0)
        itemsets = frequent_itemsets(encode(sets), np.ones(4, np.int64), 2)
    assert not itemsets.complete
    assert as_dict(itemsets)[0, 1] == ([2, 3], 2)


@pytest.mark.parametrize("sets", [[], [set()], [set(), set()], [{1}, {2}]])
def test_without_a_frequent_item_the_result_is_empty(sets):
    itemsets = frequent_itemsets(encode(sets), np.ones(len(sets), np.int64), 2)
    assert (len(itemsets.sets), len(itemsets.supersets), len(itemsets.support)) == (0, 0, 0)
    assert itemsets.complete
    mined, supports = itemset_supports(encode(sets), np.ones(len(sets), np.int64), 2, 3)
    assert (len(mined), len(supports)) == (0, 0)


def test_the_budget_bounds_the_itemsets_of_long_sets():
    rng = np.random.default_rng(0)
    sets = [set(rng.choice(1200, 700, replace=False).tolist()) for _ in range(6)]
    itemsets = frequent_itemsets(encode(sets), np.ones(6, np.int64), 2)
    assert not itemsets.complete
    assert len(itemsets.supersets) <= module.MAX_ITEMS * module.BUDGET + 6 * 700


@given(SETS, st.integers(1, 3), st.data())
def test_subsets_of_one_item_less_are_found(sets, k, data):
    budget = data.draw(st.sampled_from([module.BUDGET, 5, 12]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BUDGET", budget)
        patch.setattr(module, "PER_ITEM", 0)
        itemsets = frequent_itemsets(encode(sets), np.ones(len(sets), np.int64), k)
    names = list(as_dict(itemsets))
    numbers = st.lists(st.sampled_from(range(len(names))), unique=True) if names else st.just([])
    chosen = data.draw(numbers)

    subsets = itemsets.subsets_without_one_item(np.array(chosen, np.int64))

    for c, row in zip(chosen, subsets.tolist(), strict=True):
        itemset = names[c]
        expected = {itemset[:i] + itemset[i + 1 :] for i in range(len(itemset))} - {()}
        assert sorted(names[number] for number in row if number >= 0) == sorted(expected)
