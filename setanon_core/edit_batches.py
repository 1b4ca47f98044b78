"""All queries of a log made those of their centers: some whole groups after the others.

Paper:      section 5.4, for all threads.
Guarantee:  that of `edits` and `spelling`; no result depends on where the log is cut.
Complexity: O(W log W) for W words; memory for `WORDS_AT_ONCE` of them besides the result.
Deviation:  that of `edits` and `spelling`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.edits import edit_queries
from setanon_core.errors import NotAnonymousError
from setanon_core.keywords.spelling import common_spellings, restore_typed_words
from setanon_core.model.queries import Keywords, Queries, concat_queries
from setanon_core.runtime.executor import map_ordered
from setanon_core.runtime.progress import report_progress

WORDS_AT_ONCE: Final = 1 << 20
"""Words that are edited in one go, or those of one group: a bound for memory."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EditTargets:
    """What is to become of threads: the center of each, and how its items are spelled."""

    labels: Ints
    centers: Sets
    owners: int
    """Users who must have typed what is published."""

    as_typed: bool


def edit_in_batches(typed: Queries, keywords: Keywords, wanted: EditTargets) -> tuple[Queries, int]:
    """The queries to publish, in the order of their groups, and how many words are respelled."""
    # Texts are not needed, and parts may be sent elsewhere.
    known = replace(keywords, vocabulary=())
    found, respellings, done = [], 0, 0
    parts = (_part(typed, known, wanted, part) for part in _parts(typed, wanted.labels))
    for queries, respelled in map_ordered(_edited, parts):
        found.append(queries)
        respellings += respelled
        done += len(queries.words)
        report_progress("words edited", done, len(typed.words))
    return concat_queries(found), respellings


def _parts(typed: Queries, labels: Ints) -> Iterator[Ints]:
    """The queries of some groups after those of others; of each group all of them."""
    # The queries of a thread stand together: to put threads in line is enough.
    begins = np.searchsorted(typed.threads, np.arange(len(labels) + 1))
    queries = np.diff(begins)
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]  # without what is withdrawn
    words = np.cumsum(np.diff(typed.offsets[begins])[order]) // WORDS_AT_ONCE
    first = np.flatnonzero(run_starts(labels[order]))
    starts = first[run_starts(words[first])]
    for part in np.split(order, starts):
        if len(part):
            yield concat_ranges(begins[part], queries[part])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Part:
    """Queries of some groups, with numbers of threads and centers of their own."""

    typed: Queries
    keywords: Keywords
    wanted: EditTargets
    threads: Ints
    """Their numbers in the log."""


def _part(typed: Queries, keywords: Keywords, wanted: EditTargets, queries: Ints) -> _Part:
    some = typed.take(queries)
    threads, local = np.unique(some.threads, return_inverse=True)
    rows, labels = np.unique(wanted.labels[threads], return_inverse=True)
    own = replace(wanted, labels=labels, centers=wanted.centers.take(rows))
    return _Part(replace(some, threads=local), keywords, own, threads)


def _edited(part: _Part) -> tuple[Queries, int]:
    typed, keywords, wanted = part.typed, part.keywords, part.wanted
    labels, centers = wanted.labels, wanted.centers
    chosen, respelled = common_spellings(typed, keywords, labels, centers, wanted.owners)
    edited = edit_queries(replace(typed, words=keywords.item[typed.words]), labels, centers)
    # A center's items ascend, and so do the centers: one search finds the spelling of any word.
    width = max(len(keywords.item), 1)
    cell = labels[edited.threads[edited.rows]] * width + edited.words
    words = chosen[np.searchsorted(centers.rows * width + centers.items, cell)]
    if wanted.as_typed:
        words = restore_typed_words(typed, keywords, edited, words)
    elif (rare := int((keywords.held[chosen] < wanted.owners).sum())) > 0:
        raise NotAnonymousError(
            f"min_owners = {wanted.owners} users must have typed every published keyword; "
            f"{rare} have fewer. Nothing was returned. This is a fault of setanon."
        )
    narrow = words.astype(typed.words.dtype)
    return Queries(narrow, edited.offsets, part.threads[edited.threads]), respelled
