"""Association rules, against counts by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core.utility.measures import Versions
from setanon_core.utility.rules import (
    TOP_SIZE,
    Rule,
    confidence_kept,
    frequent,
    itemsets,
    precision,
    rule_measures,
    rules_of,
    top,
    top_sets,
)

ITEMS = ["ale", "bun", "cod", "dip", "egg"]
BASKETS = st.lists(st.lists(st.sampled_from(ITEMS), max_size=5).map(tuple), max_size=20)


def support(baskets, items):
    return sum(set(items) <= set(basket) for basket in baskets)


@settings(max_examples=80)
@given(BASKETS, st.integers(1, 4))
def test_itemsets_are_those_counted_by_hand(baskets, min_support):
    every = [items for size in (1, 2, 3) for items in combinations(ITEMS, size)]
    expected = {
        items: support(baskets, items) for items in every if support(baskets, items) >= min_support
    }

    assert itemsets(baskets, min_support) == expected


def test_baskets_beyond_one_word_of_bits_are_counted():
    baskets = [("ale", "bun")] * 70 + [("bun", "ale", "cod")] * 65

    assert itemsets(baskets, 65)["ale", "bun"] == 135
    assert itemsets(baskets, 65)["ale", "bun", "cod"] == 65
    assert ("ale", "bun", "cod") not in itemsets(baskets, 66)


@given(BASKETS)
def test_confidence_and_support_of_rules_equal_those_counted_by_hand(baskets):
    rules = rules_of(frequent(baskets))

    for rule, (confidence, count) in rules.items():
        assert count == support(baskets, (*rule.antecedent, rule.consequent)) > 0
        assert confidence == pytest.approx(count / support(baskets, rule.antecedent))
    ordered = top(rules, 3)
    assert ordered == sorted(rules, key=lambda r: (-rules[r][0], -rules[r][1], r))[:3]


def test_rules_below_the_minimum_support_are_not_returned():
    baskets = [("ale", "bun")] * 2 + [("cod",)] * 199

    assert rules_of(frequent(baskets)) == {}
    assert set(rules_of(frequent(baskets[:-1]))) == {Rule(("ale",), "bun"), Rule(("bun",), "ale")}


@given(BASKETS)
def test_an_identical_release_scores_1_and_an_empty_one_0(baskets):
    for each in rule_measures(Versions(baskets, baskets, [])):
        if each.cases:
            assert each.original == each.release == pytest.approx(1)
            assert each.paper == 0
        else:
            assert np.isnan([each.original, each.release]).all()
        assert each.cases <= TOP_SIZE


def test_missing_rules_count_as_0_in_the_confidence_kept():
    one, two = Rule(("ale",), "bun"), Rule(("bun",), "ale")
    original = {one: (0.8, 8), two: (0.5, 5)}

    assert confidence_kept([one, two], original, {one: (0.4, 4)}) == pytest.approx(0.25)
    assert confidence_kept([one, two], original, {one: (1.0, 4), two: (0.5, 1)}) == pytest.approx(
        0.9
    )


def test_reprs_do_not_contain_items():
    rule = Rule(("canary",), "canary")

    assert "canary" not in repr(rule)
    assert "canary" not in repr(Versions([rule], [("canary",)], []))


def test_precision_does_not_count_missing_rules():
    one, two = Rule(("ale",), "bun"), Rule(("bun",), "ale")

    assert precision([one, two], {one: (0.8, 8)}) == 1
    assert precision([one], {one: (0.8, 8), two: (0.9, 8)}) == 0.5


def test_the_most_frequent_sets_have_two_or_three_items():
    supports = {("ale",): 9, ("ale", "cod"): 2, ("ale", "bun"): 2, ("ale", "bun", "cod"): 1}

    assert top_sets(supports, 2) == [("ale", "bun"), ("ale", "cod")]
    assert top_sets(supports) == [("ale", "bun"), ("ale", "cod"), ("ale", "bun", "cod")]
