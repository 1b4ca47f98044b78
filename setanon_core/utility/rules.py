"""Association rules of baskets: who has these items has that one, too.

Paper:      section 1 names market baskets; rules are what they are mined for.
Guarantee:  exact. Rules of equal confidence and support stand in the order of their items.
Complexity: O(f^2 n / 64) for f frequent items of n baskets, and as much for each frequent pair
            that may grow; f is at most 100 / `PERCENT` times the items of a mean basket.
Deviation:  none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations
from math import fsum
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import sorted_unique
from setanon_core.utility.measured import Measured, Three, measured, recall, share
from setanon_core.utility.query_texts import words_of

Items = tuple[str, ...]
"""The items of a basket, or of an itemset; an itemset's are sorted."""

Bits = npt.NDArray[np.uint64]
"""A bit for each basket."""

PERCENT: Final = 1
"""Of the baskets, that must have all items of a rule, or of a frequent set."""

MOST: Final = 100
"""The rules on top that are compared."""

WORD: Final = 64


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """Baskets with these items, one or two, have that one, too."""

    given: Items
    then: str


Rules = dict[Rule, tuple[float, int]]
"""The confidence of each rule, and the baskets that have all of its items."""


def itemsets(baskets: Sequence[Items], least: int) -> dict[Items, int]:
    """The sets of one, two or three items that at least so many baskets have; how many have them.

    >>> found = itemsets([("tea", "milk"), ("milk", "tea", "rum"), ("rum",)], 2)
    >>> sorted(found.items())
    [(('milk',), 2), (('milk', 'tea'), 2), (('rum',), 2), (('tea',), 2)]
    """
    bits, names = _bits(baskets, least)
    found: dict[Items, int] = {(name,): _count(row) for name, row in zip(names, bits, strict=True)}
    after: list[set[int]] = [set() for _ in names]
    for one, row in enumerate(bits):
        both = np.bitwise_count(bits[one + 1 :] & row).sum(axis=1, dtype=np.int64)
        for place in np.flatnonzero(both >= least).tolist():
            found[names[one], names[one + 1 + place]] = int(both[place])
            after[one].add(one + 1 + place)
    for one, those in enumerate(after):
        for two in sorted(those):
            pair = bits[one] & bits[two]
            for three in sorted(those & after[two]):
                if (count := _count(pair & bits[three])) >= least:
                    found[names[one], names[two], names[three]] = count
    return found


def _bits(baskets: Sequence[Items], least: int) -> tuple[Bits, list[str]]:
    """The frequent items, sorted, and a bit in the row of each for every basket that has it."""
    rows, words, vocabulary = words_of(baskets)
    width = max(len(vocabulary), 1)
    rows, words = np.divmod(sorted_unique(rows * width + words), width)
    frequent = np.flatnonzero(np.bincount(words, minlength=len(vocabulary)) >= least)
    bits = np.zeros((len(frequent), len(baskets) // WORD + 1), np.uint64)
    place = np.searchsorted(frequent, words)
    here = np.isin(words, frequent)
    mask = np.uint64(1) << (rows[here] % WORD).astype(np.uint64)
    np.bitwise_or.at(bits, (place[here], rows[here] // WORD), mask)
    return bits, [vocabulary[item] for item in frequent.tolist()]


def _count(row: Bits) -> int:
    return int(np.bitwise_count(row).sum(dtype=np.int64))


def frequent(baskets: Sequence[Items]) -> dict[Items, int]:
    """The sets of one, two or three items that `PERCENT` of the baskets have."""
    # In whole percent: a product of fractions may be a hair above what it should be.
    return itemsets(baskets, max(-(-len(baskets) * PERCENT // 100), 1))


def rules_of(found: Mapping[Items, int]) -> Rules:
    """All rules of two or three items among these sets, which hold their subsets, too."""
    rules: Rules = {}
    for whole, count in found.items():
        for given in combinations(whole, len(whole) - 1):
            if given:
                (then,) = set(whole) - set(given)
                rules[Rule(given, then)] = share(count, found[given]), count
    return rules


def top(rules: Rules, most: int = MOST) -> list[Rule]:
    """The rules of highest confidence; of equals, those of more baskets, then in their order."""
    return nsmallest(most, rules, key=lambda rule: (-rules[rule][0], -rules[rule][1], rule))


def top_sets(found: Mapping[Items, int], most: int = MOST) -> list[Items]:
    """The most frequent sets of two or three items; of equals, those first that sort first."""
    several = [items for items in found if len(items) > 1]
    return nsmallest(most, several, key=lambda items: (-found[items], items))


def rule_measures(three: Three[Sequence[Items]]) -> list[Measured]:
    """How much of the frequent sets and rules of the original a reader of a release would find."""
    sets = (frequent(three[0]), frequent(three[1]), frequent(three[2]))
    found = (rules_of(sets[0]), rules_of(sets[1]), rules_of(sets[2]))
    wanted, often = top(found[0]), top_sets(sets[0])
    return [
        measured(
            f"frequent sets: top {MOST}",
            f"Share of the {MOST} most frequent pairs and triples of items that still are that.",
            sets,
            lambda own: recall(often, top_sets(own)),
            len(often),
        ),
        measured(
            f"rules: top {MOST}, precision",
            f"Share of the {MOST} rules of highest confidence that are so in the original; rules "
            f"have two or three items that {PERCENT}% of the baskets have.",
            found,
            lambda own: precision(wanted, own),
            len(wanted),
        ),
        measured(
            f"rules: top {MOST}, recall",
            f"Share of the original's {MOST} rules of highest confidence that are so still.",
            found,
            lambda own: recall(wanted, top(own)),
            len(wanted),
        ),
        measured(
            f"rules: top {MOST}, there",
            f"Share of the original's {MOST} rules of highest confidence whose items "
            f"{PERCENT}% of the baskets still have.",
            found,
            lambda own: recall(wanted, own),
            len(wanted),
        ),
        measured(
            f"rules: top {MOST}, confidence kept",
            "Mean ratio of a rule's confidence to that in the original, or the other way round, "
            "whichever is below 1; 0 for a rule that is not there.",
            found,
            lambda own: confidence_kept(wanted, found[0], own),
            len(wanted),
        ),
    ]


def precision(wanted: list[Rule], own: Rules) -> float:
    """Share of the rules on top of a release that were wanted; without any rule it is 0."""
    return recall(top(own), wanted) if own else share(0, len(wanted))


def confidence_kept(wanted: list[Rule], original: Rules, own: Rules) -> float:
    """How near to 1 the confidence of these rules over that in the original is, in the mean."""
    both = [(original[rule][0], own[rule][0]) for rule in wanted if rule in own]
    return share(fsum(min(pair) / max(pair) for pair in both), len(wanted))
