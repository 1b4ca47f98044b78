"""Suggest the next query, or complete a query, from the queries of other users.

Paper:      section 5.5, "Utility": how well a query suggestion algorithm works when run on the
            release instead of the original.
Guarantee:  exact counts. Ties are sorted by keywords.
Complexity: O(Q log Q) for Q queries.
Deviation:  none: the paper names no algorithm. This one suggests the most frequent next query,
            or the most frequent query with the same beginning.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.encode import encode_first_seen, encode_values
from setanon_core.utility.measures import UtilityMeasure, Versions, measure, share
from setanon_core.utility.query_texts import QueryTexts

Cases = tuple[Ints, Ints]
"""For each case the number of the context (what is known) and of the answer (what followed)."""

LIST_SIZES: Final = (1, 5, 10)
"""Sizes of the lists of suggestions."""

NOT_SUGGESTED: Final = np.iinfo(np.int64).max
"""The rank of an answer that is not suggested."""


def answer_ranks(training: Cases, test: Cases) -> Ints:
    """The rank of each test answer among the training answers of its context, from 0.

    Answers are ranked by frequency, then by number. Answers that the training cases do not have
    for the context get `NOT_SUGGESTED`.

    >>> training = np.array([7, 7, 7, 8]), np.array([2, 1, 1, 3])
    >>> answer_ranks(training, (np.array([7, 7]), np.array([1, 2]))).tolist()
    [0, 1]
    """
    width = 1 + max(int(cases[1].max(initial=0)) for cases in (training, test))
    codes, counts = np.unique(training[0] * width + training[1], return_counts=True)
    context = codes // width
    order = np.lexsort((codes, -counts, context))
    starts = np.flatnonzero(np.diff(context, prepend=-1))
    rank = np.empty(len(codes), np.int64)
    # Codes ascend, so each context has the same range before and after sorting.
    rank[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    test_codes = test[0] * width + test[1]
    position = np.minimum(np.searchsorted(codes, test_codes), max(len(codes) - 1, 0))
    if not len(codes):
        return np.full(len(test_codes), NOT_SUGGESTED)
    return np.where(codes[position] == test_codes, rank[position], NOT_SUGGESTED)


def hit_rate(training: Cases, test: Cases, size: int) -> float:
    """Share of the test cases whose answer is among the first `size` suggestions."""
    return share(int((answer_ranks(training, test) < size).sum()), len(test[0]))


def coverage(training: Cases, test: Cases) -> float:
    """Share of the test cases with at least one suggestion, right or wrong."""
    return share(int(np.isin(test[0], training[0]).sum()), len(test[0]))


def next_queries(*logs: QueryTexts) -> list[Cases]:
    """Each query and the next different one of its thread, numbered alike in all logs."""
    distinct = [texts.without_repeats() for texts in logs]
    numbers = _number_queries(distinct)
    cases = []
    for texts, number in zip(distinct, numbers, strict=True):
        later = np.flatnonzero(texts.has_previous)
        cases.append((number[later - 1], number[later]))
    return cases


def completions(letters: int, *logs: QueryTexts) -> list[Cases]:
    """The beginning of each query with two keywords or more, and the query.

    The beginning is the first keyword and the first `letters` letters of the second. A query that
    repeats the previous one of its thread is not counted again.
    """
    distinct = [texts.without_repeats() for texts in logs]
    numbers = _number_queries(distinct)
    beginnings = [
        (query[0], query[1][:letters]) if len(query) > 1 else None
        for texts in distinct
        for query in texts.queries
    ]
    several = np.fromiter((start is not None for start in beginnings), np.bool_, len(beginnings))
    contexts = np.split(encode_first_seen(beginnings)[0], _ends(distinct))
    masks = np.split(several, _ends(distinct))
    return [
        (context[mask], number[mask])
        for context, number, mask in zip(contexts, numbers, masks, strict=True)
    ]


def suggestion_measures(
    training: Versions[QueryTexts], held_out: QueryTexts
) -> list[UtilityMeasure]:
    """Hit rates of suggestions and completions for the queries of held-out users."""
    return [
        *_measures(
            "next query",
            "of the next queries in threads of held-out users, without repeats,",
            next_queries(*training, held_out),
        ),
        *_measures(
            "completion of the first word",
            "of the queries of held-out users with two keywords or more, given the first,",
            completions(0, *training, held_out),
        ),
        *_measures(
            "completion of word and letter",
            "of the queries of held-out users with two keywords or more, given the first keyword "
            "and the first letter of the second,",
            completions(1, *training, held_out),
        ),
    ]


def _measures(name: str, of_cases: str, cases: list[Cases]) -> list[UtilityMeasure]:
    original, release, paper, test = cases
    training = Versions(original, release, paper)
    hits = [
        measure(
            f"{name}: hits at {size}",
            f"Share {of_cases} that are among the {size} most frequent suggestions.",
            training,
            lambda version, size=size: hit_rate(version, test, size),  # type: ignore[misc]
            len(test[0]),
        )
        for size in LIST_SIZES
    ]
    any_suggestion = measure(
        f"{name}: any suggestion",
        f"Share {of_cases} with at least one suggestion, right or wrong.",
        training,
        lambda version: coverage(version, test),
        len(test[0]),
    )
    return [*hits, any_suggestion]


def _number_queries(logs: list[QueryTexts]) -> list[Ints]:
    """The numbers of all queries, sorted by keywords."""
    numbers, _ = encode_values([query for texts in logs for query in texts.queries], "query")
    return np.split(numbers, _ends(logs))


def _ends(logs: list[QueryTexts]) -> Ints:
    return np.cumsum([len(texts.queries) for texts in logs])[:-1]
