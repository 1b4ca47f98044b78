"""How often a keyword is used: in how many threads, or baskets, it is.

Paper:      section 5.5, "Utility"; the measures are not the paper's.
Guarantee:  exact counts and ranks. What is counted as often stands in the order of the text.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.utility.measured import Measured, Three, measured, recall, share
from setanon_core.utility.query_texts import Texts, words_of

Counts = Mapping[str, int]
"""A keyword, and the threads or baskets that have it."""

TOPS: Final = (100, 1000)
"""How many of the most frequent keywords are looked for."""


def thread_counts(texts: Texts) -> Counts:
    """In how many threads each keyword is."""
    rows, words, vocabulary = words_of(texts.queries)
    return _counted(texts.threads[rows], words, vocabulary)


def set_counts(sets: Sequence[tuple[str, ...]]) -> Counts:
    """In how many sets each item is."""
    return _counted(*words_of(sets))


def _counted(holders: Ints, words: Ints, vocabulary: Sequence[str]) -> Counts:
    width = max(len(vocabulary), 1)
    cells = sorted_unique(holders * width + words)
    counts = np.bincount(cells % width, minlength=len(vocabulary)).tolist()
    return dict(zip(vocabulary, counts, strict=True))


def top(counts: Counts, most: int) -> list[str]:
    """The most frequent keywords; of equals, those first that sort first."""
    return nsmallest(most, counts, key=lambda word: (-counts[word], word))


def rank_correlation(original: Counts, other: Counts) -> float:
    """Spearman's, over the keywords of the original; those that the other lacks have count 0.

    Equal counts share the mean of their ranks. Where all counts are equal on one side there is no
    correlation: it is then 1 if they are on both sides and the other has any, else 0.

    >>> rank_correlation({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 5})
    1.0
    """
    names = list(original)
    here = _ranks(np.asarray([original[name] for name in names], np.int64))
    counts = np.asarray([other.get(name, 0) for name in names], np.int64)
    there = _ranks(counts)
    if not names:
        return float("nan")
    # Twice the ranks, from their mean: whole numbers, and so the same on every machine.
    spread = int(here @ here) * int(there @ there)
    if spread:
        return float(int(here @ there) / spread**0.5)
    return float(counts.any() and np.array_equal(here, there))


def _ranks(counts: Ints) -> Ints:
    """Twice the rank of each count less its mean; equal counts share the mean of their ranks."""
    _, number, sizes = np.unique(counts, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    ranks: Ints = (2 * ends - sizes + 1 - (len(counts) + 1))[number]
    return ranks


def kept_uses(original: Counts, other: Counts) -> float:
    """Share of the uses of all keywords that the other has; what it has more does not count."""
    kept = sum(min(count, other.get(word, 0)) for word, count in original.items())
    return share(kept, sum(original.values()))


def frequency_measures(
    three: Three[Counts], what: str, holder: str, at: Sequence[int] = TOPS
) -> list[Measured]:
    """Ranks, uses and most frequent keywords of the original that a release still has."""
    original = three[0]
    tops = []
    for most in at:
        wanted = top(original, most)
        tops.append(
            measured(
                f"{what}: top {most:,}",
                f"Share of the {most:,} most frequent {what} that still are that.",
                three,
                lambda own, wanted=wanted, most=most: recall(wanted, top(own, most)),  # type: ignore[misc]
                len(wanted),
            )
        )
    return [
        measured(
            f"{what}: rank correlation",
            f"Spearman's, between numbers of {holder}, over all {what} of the original.",
            three,
            lambda own: rank_correlation(original, own),
            len(original),
        ),
        measured(
            f"{what}: uses kept",
            f"Share of the pairs of {holder} and {what} that there still are as many of.",
            three,
            lambda own: kept_uses(original, own),
            sum(original.values()),
        ),
        *tops,
    ]
