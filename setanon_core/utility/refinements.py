"""Query refinements: the kinds of steps within threads, and the words added and removed.

Paper:      section 5.5, "Utility"; the kinds of steps are not the paper's.
Guarantee:  exact counts. Ties are sorted by keywords.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from collections import Counter
from enum import IntEnum
from heapq import nsmallest
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.utility.measures import UtilityMeasure, Versions, measure, recall, share
from setanon_core.utility.query_texts import Query, QueryTexts, encode_words

Refinement = tuple[Query, Query]
"""The keywords removed and the keywords added; both sorted."""

TOP_SIZE: Final = 100
"""Size of the list of most frequent refinements."""


class Step(IntEnum):
    """How a query changes the keywords of the previous query in its thread."""

    REPETITION = 0
    """Same keywords, in any order."""

    SPECIALIZATION = 1
    """Adds keywords and removes none."""

    GENERALIZATION = 2
    """Removes keywords and adds none."""

    SUBSTITUTION = 3
    """Adds, removes and keeps keywords."""

    NEW = 4
    """Keeps no keyword."""


def steps(texts: QueryTexts) -> tuple[Ints, Ints]:
    """The queries that have a previous one in their thread, and the kind of each step."""
    rows, words, vocabulary = encode_words(texts.queries)
    width = max(len(vocabulary), 1)
    # A cell is a pair (query, word) as one number.
    cells = sorted_unique(rows * width + words)
    sizes = np.bincount(cells // width, minlength=len(texts.queries))
    # A common word of two consecutive queries has the same cell, one row later.
    both = cells[np.isin(cells, cells + width)]
    common = np.bincount(both // width, minlength=len(texts.queries))
    later = np.flatnonzero(texts.has_previous)
    kept, before, after = common[later], sizes[later - 1], sizes[later]
    kinds = np.select(
        [(kept == before) & (kept == after), kept == before, kept == after, kept > 0],
        [Step.REPETITION, Step.SPECIALIZATION, Step.GENERALIZATION, Step.SUBSTITUTION],
        Step.NEW,
    )
    return later, kinds.astype(np.int64)


def step_counts(texts: QueryTexts) -> Ints:
    """The number of steps of each kind."""
    return np.bincount(steps(texts)[1], minlength=len(Step))


def similarity(original: Ints, other: Ints) -> float:
    """One minus the total variation distance of two distributions, given as counts.

    It is 0 if `other` has no counts.

    >>> similarity(np.array([1, 1]), np.array([3, 1]))
    0.75
    """
    if not other.any():
        return share(0, int(original.sum()))
    # Integers, so that equal distributions give exactly 1.
    total, other_total = int(original.sum()), int(other.sum())
    common = int(np.minimum(original * other_total, other * total).sum())
    return share(common, total * other_total)


def kept_counts(original: Ints, other: Ints) -> float:
    """Share of the original's counts that `other` has; higher counts do not make up for lower."""
    return share(int(np.minimum(original, other).sum()), int(original.sum()))


def refinements(texts: QueryTexts) -> Counter[Refinement]:
    """The number of steps with the same removed and added keywords, if they keep a keyword."""
    later, kinds = steps(texts)
    refined = (kinds != Step.REPETITION) & (kinds != Step.NEW)
    counts: Counter[Refinement] = Counter()
    for row in later[refined].tolist():
        before, after = set(texts.queries[row - 1]), set(texts.queries[row])
        counts[tuple(sorted(before - after)), tuple(sorted(after - before))] += 1
    return counts


def top(counts: Counter[Refinement], size: int = TOP_SIZE) -> list[Refinement]:
    """The most frequent refinements; ties are sorted by keywords."""
    return nsmallest(size, counts, key=lambda refinement: (-counts[refinement], refinement))


def refinement_measures(texts: Versions[QueryTexts]) -> list[UtilityMeasure]:
    """Steps and refinements of the original that remain in a release."""
    counts = texts.map(step_counts)
    refined = texts.map(refinements)
    expected = top(refined.original)
    shares = [
        measure(
            f"steps: {kind.name.lower()}",
            "Share of the steps from query to query of a thread that are of this kind.",
            counts,
            lambda other, kind=kind: share(int(other[kind]), int(other.sum())),  # type: ignore[misc]
            int(counts.original.sum()),
        )
        for kind in Step
    ]
    return [
        *shares,
        *_step_measures("steps", "steps", counts),
        *_step_measures("changes", "steps except repetitions", counts.map(_without_repetitions)),
        measure(
            f"refinements: top {TOP_SIZE}, present",
            "Share of the most frequent pairs of removed and added words that occur.",
            refined,
            lambda other: recall(expected, other),
            len(expected),
        ),
        measure(
            f"refinements: top {TOP_SIZE}, recall",
            "Share of the most frequent pairs of removed and added words that are among the most "
            "frequent of the release.",
            refined,
            lambda other: recall(expected, top(other)),
            len(expected),
        ),
    ]


def _without_repetitions(counts: Ints) -> Ints:
    """The counts without repetitions, which are most steps of a log."""
    return np.where(np.arange(len(Step)) == Step.REPETITION, 0, counts)


def _step_measures(name: str, steps: str, counts: Versions[Ints]) -> list[UtilityMeasure]:
    original = counts.original
    cases = int(original.sum())
    return [
        measure(
            f"{name}: distribution kept",
            f"One minus the total variation distance between the kinds of {steps}.",
            counts,
            lambda other: similarity(original, other),
            cases,
        ),
        measure(
            f"{name}: kept",
            f"Share of the original's {steps} that remain, counted per kind.",
            counts,
            lambda other: kept_counts(original, other),
            cases,
        ),
    ]
