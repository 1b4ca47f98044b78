"""Keyword frequencies: the number of threads, or baskets, that have a keyword.

Paper:      section 5.5, "Utility"; the measures are not the paper's.
Guarantee:  exact counts and ranks. Ties are sorted by text.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.utility.measures import UtilityMeasure, Versions, measure, recall, share
from setanon_core.utility.query_texts import QueryTexts, encode_words

Counts = Mapping[str, int]
"""For each keyword the number of threads or baskets that have it."""

TOP_SIZES: Final = (100, 1000)
"""Sizes of the lists of most frequent keywords."""


def thread_counts(texts: QueryTexts) -> Counts:
    """The number of threads that have each keyword."""
    rows, words, vocabulary = encode_words(texts.queries)
    return _count(texts.threads[rows], words, vocabulary)


def set_counts(sets: Sequence[tuple[str, ...]]) -> Counts:
    """The number of sets that have each item."""
    return _count(*encode_words(sets))


def _count(rows: Ints, words: Ints, vocabulary: Sequence[str]) -> Counts:
    width = max(len(vocabulary), 1)
    # A cell is a pair (thread or basket, word) as one number.
    cells = sorted_unique(rows * width + words)
    counts = np.bincount(cells % width, minlength=len(vocabulary)).tolist()
    return dict(zip(vocabulary, counts, strict=True))


def top(counts: Counts, size: int) -> list[str]:
    """The most frequent keywords; ties are sorted by text."""
    return nsmallest(size, counts, key=lambda word: (-counts[word], word))


def rank_correlation(original: Counts, other: Counts) -> float:
    """Spearman's rank correlation over the keywords of the original.

    A keyword that `other` lacks has count 0; equal counts share the mean of their ranks. If all
    counts of one side are equal, no correlation is defined: the value is 1 if those of both sides
    are equal and not 0, else 0.

    >>> rank_correlation({"a": 3, "b": 2, "c": 1}, {"a": 9, "b": 5})
    1.0
    """
    keywords = list(original)
    ranks = _ranks(np.asarray([original[word] for word in keywords], np.int64))
    other_counts = np.asarray([other.get(word, 0) for word in keywords], np.int64)
    other_ranks = _ranks(other_counts)
    if not keywords:
        return float("nan")
    # Integers, so that every machine gives the same value.
    spread = int(ranks @ ranks) * int(other_ranks @ other_ranks)
    if spread:
        return float(int(ranks @ other_ranks) / spread**0.5)
    return float(other_counts.any() and np.array_equal(ranks, other_ranks))


def _ranks(counts: Ints) -> Ints:
    """Twice the difference of each rank from the mean rank; ties share the mean of their ranks."""
    _, number, sizes = np.unique(counts, return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    ranks: Ints = (2 * ends - sizes + 1 - (len(counts) + 1))[number]
    return ranks


def kept_uses(original: Counts, other: Counts) -> float:
    """Share of the original's counts that `other` has; higher counts do not make up for lower."""
    kept = sum(min(count, other.get(word, 0)) for word, count in original.items())
    return share(kept, sum(original.values()))


def frequency_measures(
    counts: Versions[Counts], items: str, records: str, sizes: Sequence[int] = TOP_SIZES
) -> list[UtilityMeasure]:
    """Ranks, uses and most frequent keywords of the original that remain in a release.

    `items` and `records` are nouns for the descriptions: "keywords" and "threads", for example.
    """
    original = counts.original
    tops = []
    for size in sizes:
        expected = top(original, size)
        tops.append(
            measure(
                f"{items}: top {size:,}",
                f"Share of the {size:,} most frequent {items} that are among the {size:,} most "
                "frequent of the release.",
                counts,
                lambda other, expected=expected, size=size: recall(expected, top(other, size)),  # type: ignore[misc]
                len(expected),
            )
        )
    return [
        measure(
            f"{items}: rank correlation",
            f"Spearman's, between numbers of {records}, over all {items} of the original.",
            counts,
            lambda other: rank_correlation(original, other),
            len(original),
        ),
        measure(
            f"{items}: uses kept",
            f"Share of the pairs of {records} and {items} that remain, counted per keyword.",
            counts,
            lambda other: kept_uses(original, other),
            sum(original.values()),
        ),
        *tops,
    ]
