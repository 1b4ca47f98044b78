"""How people refine their queries: the kinds of their steps, and the words they add and remove.

Paper:      section 5.5, "Utility"; the kinds of steps are not the paper's.
Guarantee:  exact counts. What is counted as often stands in the order of its keywords.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from collections import Counter
from enum import IntEnum
from heapq import nsmallest
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.utility.measured import Measured, Three, measured, recall, share
from setanon_core.utility.query_texts import Query, Texts, words_of

Refinement = tuple[Query, Query]
"""The keywords removed, and those added; both sorted."""

MOST: Final = 100
"""The most frequent refinements that are looked for."""


class Step(IntEnum):
    """What a query does to the keywords of the one before it in its thread."""

    REPETITION = 0
    """It has the same, in whatever order."""

    SPECIALIZATION = 1
    """It adds some and removes none."""

    GENERALIZATION = 2
    """It removes some and adds none."""

    SUBSTITUTION = 3
    """It adds some, removes some, and keeps some."""

    NEW = 4
    """It keeps none."""


def steps(texts: Texts) -> tuple[Ints, Ints]:
    """The queries that have one before them in their thread, and the kind of each such step."""
    rows, words, vocabulary = words_of(texts.queries)
    width = max(len(vocabulary), 1)
    cells = sorted_unique(rows * width + words)
    sizes = np.bincount(cells // width, minlength=len(texts.queries))
    # A word of the query before is the same cell, one row later.
    both = cells[np.isin(cells, cells + width)]
    common = np.bincount(both // width, minlength=len(texts.queries))
    later = np.flatnonzero(texts.follows)
    kept, before, after = common[later], sizes[later - 1], sizes[later]
    kinds = np.select(
        [(kept == before) & (kept == after), kept == before, kept == after, kept > 0],
        [Step.REPETITION, Step.SPECIALIZATION, Step.GENERALIZATION, Step.SUBSTITUTION],
        Step.NEW,
    )
    return later, kinds.astype(np.int64)


def step_counts(texts: Texts) -> Ints:
    """How many steps there are of each kind."""
    return np.bincount(steps(texts)[1], minlength=len(Step))


def likeness(original: Ints, other: Ints) -> float:
    """One minus the total variation distance of two distributions, given as counts.

    Where the other has nothing at all, it is 0.

    >>> likeness(np.array([1, 1]), np.array([3, 1]))
    0.75
    """
    if not other.any():
        return share(0, int(original.sum()))
    # In whole numbers, so that equal distributions are alike to the last digit.
    mine, yours = int(original.sum()), int(other.sum())
    return share(int(np.minimum(original * yours, other * mine).sum()), mine * yours)


def kept_counts(original: Ints, other: Ints) -> float:
    """Share of the original's counts that the other has, kind by kind; what it has more is not."""
    return share(int(np.minimum(original, other).sum()), int(original.sum()))


def refinements(texts: Texts) -> Counter[Refinement]:
    """How often which keywords are removed and added, by steps that keep at least one."""
    later, kinds = steps(texts)
    some = (kinds != Step.REPETITION) & (kinds != Step.NEW)
    found: Counter[Refinement] = Counter()
    for row in later[some].tolist():
        before, after = set(texts.queries[row - 1]), set(texts.queries[row])
        found[tuple(sorted(before - after)), tuple(sorted(after - before))] += 1
    return found


def top(counts: Counter[Refinement], most: int = MOST) -> list[Refinement]:
    """The most frequent refinements; of equals, those first that sort first."""
    return nsmallest(most, counts, key=lambda each: (-counts[each], each))


def refinement_measures(three: Three[Texts]) -> list[Measured]:
    """Steps and refinements of the original that a release still has."""
    counts = (step_counts(three[0]), step_counts(three[1]), step_counts(three[2]))
    changes = (_changes(counts[0]), _changes(counts[1]), _changes(counts[2]))
    found = (refinements(three[0]), refinements(three[1]), refinements(three[2]))
    wanted = top(found[0])
    shares = [
        measured(
            f"steps: {kind.name.lower()}",
            "Share of the steps from query to query of a thread that are of this kind.",
            counts,
            lambda own, kind=kind: share(int(own[kind]), int(own.sum())),  # type: ignore[misc]
            int(counts[0].sum()),
        )
        for kind in Step
    ]
    return [
        *shares,
        *_of_steps("steps", "steps", counts),
        *_of_steps("changes", "steps that are no repetition", changes),
        measured(
            f"refinements: top {MOST}, there",
            "Share of the most frequent pairs of removed and added words that occur at all.",
            found,
            lambda own: recall(wanted, own),
            len(wanted),
        ),
        measured(
            f"refinements: top {MOST}, still on top",
            "Share of the most frequent pairs of removed and added words that still are that.",
            found,
            lambda own: recall(wanted, top(own)),
            len(wanted),
        ),
    ]


def _changes(counts: Ints) -> Ints:
    """The counts without repetitions, which are most steps of a log."""
    return np.where(np.arange(len(Step)) == Step.REPETITION, 0, counts)


def _of_steps(name: str, what: str, counts: Three[Ints]) -> list[Measured]:
    original = counts[0]
    cases = int(original.sum())
    return [
        measured(
            f"{name}: distribution kept",
            f"One minus the total variation distance between the kinds of {what}.",
            counts,
            lambda own: likeness(original, own),
            cases,
        ),
        measured(
            f"{name}: kept",
            f"Share of the original's {what} that there still are as many of, kind by kind.",
            counts,
            lambda own: kept_counts(original, own),
            cases,
        ),
    ]
