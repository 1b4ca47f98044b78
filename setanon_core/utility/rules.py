"""Association rules: baskets with the antecedent also have the consequent.

Paper:      section 1 names market baskets, which are mined for rules.
Guarantee:  exact. Rules of equal confidence and support are sorted by items.
Complexity: O(entries * log entries) for the pairs (itemset, basket that contains it) of up to
            three frequent items.
Deviation:  none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations, pairwise
from math import fsum
from typing import Final

import numpy as np

from setanon_core.columns.arrays import offsets_of, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.grouping.itemsets import itemset_supports
from setanon_core.utility.measures import UtilityMeasure, Versions, measure, recall, share
from setanon_core.utility.query_texts import encode_words

Items = tuple[str, ...]
"""The items of a basket, or of an itemset; an itemset's are sorted."""

PERCENT: Final = 1
"""Least support of a rule or frequent itemset, in percent of the baskets."""

TOP_SIZE: Final = 100
"""Size of the lists of top rules and itemsets."""


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Rule:
    """Baskets with the one or two items of the antecedent also have the consequent."""

    antecedent: Items
    consequent: str


Rules = dict[Rule, tuple[float, int]]
"""The confidence of each rule, and the number of baskets that have all of its items."""


def itemsets(baskets: Sequence[Items], min_support: int) -> dict[Items, int]:
    """The itemsets of one to three items in at least `min_support` baskets, with their support.

    >>> supports = itemsets([("tea", "milk"), ("milk", "tea", "rum"), ("rum",)], 2)
    >>> sorted(supports.items())
    [(('milk',), 2), (('milk', 'tea'), 2), (('rum',), 2), (('tea',), 2)]
    """
    rows, words, vocabulary = encode_words(baskets)
    width = max(len(vocabulary), 1)
    rows, words = np.divmod(sorted_unique(rows * width + words), width)
    sizes = np.bincount(rows, minlength=len(baskets))
    sets = Sets.unchecked(items=words, offsets=offsets_of(sizes))
    first, weights, _ = sets.distinct
    mined, supports = itemset_supports(sets.take(first), weights, min_support, max_items=3)
    names = [vocabulary[item] for item in mined.items.tolist()]
    spans = pairwise(mined.offsets.tolist())
    return {
        tuple(names[low:high]): support
        for (low, high), support in zip(spans, supports.tolist(), strict=True)
    }


def frequent(baskets: Sequence[Items]) -> dict[Items, int]:
    """The support of the itemsets of one, two or three items in `PERCENT` of the baskets."""
    # Integers: a product of floats may round up.
    return itemsets(baskets, max(-(-len(baskets) * PERCENT // 100), 1))


def rules_of(supports: Mapping[Items, int]) -> Rules:
    """All rules of two or three items among these itemsets, which include all their subsets."""
    rules: Rules = {}
    for itemset, count in supports.items():
        for antecedent in combinations(itemset, len(itemset) - 1):
            if antecedent:
                (consequent,) = set(itemset) - set(antecedent)
                rules[Rule(antecedent, consequent)] = share(count, supports[antecedent]), count
    return rules


def top(rules: Rules, size: int = TOP_SIZE) -> list[Rule]:
    """The rules of highest confidence; ties are sorted by support, then by items."""
    return nsmallest(size, rules, key=lambda rule: (-rules[rule][0], -rules[rule][1], rule))


def top_sets(supports: Mapping[Items, int], size: int = TOP_SIZE) -> list[Items]:
    """The most frequent itemsets of two or three items; ties are sorted by items."""
    candidates = [items for items in supports if len(items) > 1]
    return nsmallest(size, candidates, key=lambda items: (-supports[items], items))


def rule_measures(baskets: Versions[Sequence[Items]]) -> list[UtilityMeasure]:
    """Frequent itemsets and rules of the original that remain in a release."""
    supports = baskets.map(frequent)
    rules = supports.map(rules_of)
    expected, expected_sets = top(rules.original), top_sets(supports.original)
    return [
        measure(
            f"frequent sets: top {TOP_SIZE}",
            f"Share of the {TOP_SIZE} most frequent pairs and triples of items that are among the "
            f"{TOP_SIZE} most frequent of the release.",
            supports,
            lambda other: recall(expected_sets, top_sets(other)),
            len(expected_sets),
        ),
        measure(
            f"rules: top {TOP_SIZE}, precision",
            f"Share of the release's {TOP_SIZE} rules of highest confidence that are among those "
            f"of the original; rules have two or three items with a support of {PERCENT}%.",
            rules,
            lambda other: precision(expected, other),
            len(expected),
        ),
        measure(
            f"rules: top {TOP_SIZE}, recall",
            f"Share of the original's {TOP_SIZE} rules of highest confidence that are among those "
            "of the release.",
            rules,
            lambda other: recall(expected, top(other)),
            len(expected),
        ),
        measure(
            f"rules: top {TOP_SIZE}, present",
            f"Share of the original's {TOP_SIZE} rules of highest confidence whose items still "
            f"have a support of {PERCENT}%.",
            rules,
            lambda other: recall(expected, other),
            len(expected),
        ),
        measure(
            f"rules: top {TOP_SIZE}, confidence kept",
            "Mean ratio of a rule's confidence to that in the original, or its inverse if above "
            "1; 0 for a missing rule.",
            rules,
            lambda other: confidence_kept(expected, rules.original, other),
            len(expected),
        ),
    ]


def precision(expected: list[Rule], rules: Rules) -> float:
    """Share of a release's top rules that are expected; 0 if it has no rules."""
    return recall(top(rules), expected) if rules else share(0, len(expected))


def confidence_kept(expected: list[Rule], original: Rules, rules: Rules) -> float:
    """Mean ratio, at most 1, of the confidences of the expected rules; 0 for a missing rule."""
    pairs = [(original[rule][0], rules[rule][0]) for rule in expected if rule in rules]
    return share(fsum(min(pair) / max(pair) for pair in pairs), len(expected))
