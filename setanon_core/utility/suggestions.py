"""Suggest the next query, or complete a query, from what others asked.

Paper:      section 5.5, "Utility": how well a query suggestion algorithm works when run on the
            release instead of the original.
Guarantee:  exact counts. What is counted as often stands in the order of its keywords.
Complexity: O(Q log Q) for Q queries.
Deviation:  none: the paper asks the question and names no algorithm. Ours are the plainest: what
            followed, or completed, most often.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.encode import encode_first_seen, encode_values
from setanon_core.utility.measured import Measured, Three, measured, share
from setanon_core.utility.query_texts import Texts

Pairs = tuple[Ints, Ints]
"""What was given, and what came: a number of each, for each case."""

AT: Final = (1, 5, 10)
"""How many suggestions are looked at."""

NOWHERE: Final = np.iinfo(np.int64).max
"""The place of what is not among the suggestions."""


def places(trained: Pairs, asked: Pairs) -> Ints:
    """The place of each answer among those trained for what is given, from 0; or `NOWHERE`.

    Answers stand by how often they came, then by their number.

    >>> trained = np.array([7, 7, 7, 8]), np.array([2, 1, 1, 3])
    >>> places(trained, (np.array([7, 7]), np.array([1, 2]))).tolist()
    [0, 1]
    """
    width = 1 + max(int(pairs[1].max(initial=0)) for pairs in (trained, asked))
    codes, counts = np.unique(trained[0] * width + trained[1], return_counts=True)
    given = codes // width
    order = np.lexsort((codes, -counts, given))
    starts = np.flatnonzero(np.diff(given, prepend=-1))
    place = np.empty(len(codes), np.int64)
    # Codes ascend, so what is given stands in the same spans before and after the sorting.
    place[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(starts, append=len(codes)))
    wanted = asked[0] * width + asked[1]
    at = np.minimum(np.searchsorted(codes, wanted), max(len(codes) - 1, 0))
    if not len(codes):
        return np.full(len(wanted), NOWHERE)
    return np.where(codes[at] == wanted, place[at], NOWHERE)


def hit_rate(trained: Pairs, asked: Pairs, at: int) -> float:
    """Share of the cases asked whose answer is among the first `at` suggestions."""
    return share(int((places(trained, asked) < at).sum()), len(asked[0]))


def coverage(trained: Pairs, asked: Pairs) -> float:
    """Share of the cases asked for which there is any suggestion, right or wrong."""
    return share(int(np.isin(asked[0], trained[0]).sum()), len(asked[0]))


def next_queries(*many: Texts) -> list[Pairs]:
    """Each query of a thread and the next that differs, numbered alike in all of the texts."""
    changed = [texts.changed() for texts in many]
    numbers = _numbered(changed)
    found = []
    for texts, number in zip(changed, numbers, strict=True):
        later = np.flatnonzero(texts.follows)
        found.append((number[later - 1], number[later]))
    return found


def completions(letters: int, *many: Texts) -> list[Pairs]:
    """The first keyword and first letters of the second, and the query: of all that have two.

    A query that repeats the one before it in its thread does not count again.
    """
    changed = [texts.changed() for texts in many]
    numbers = _numbered(changed)
    beginnings = [
        (query[0], query[1][:letters]) if len(query) > 1 else None
        for texts in changed
        for query in texts.queries
    ]
    whole = np.fromiter((start is not None for start in beginnings), np.bool_, len(beginnings))
    given = np.split(encode_first_seen(beginnings)[0], _cuts(changed))
    longer = np.split(whole, _cuts(changed))
    return [
        (start[some], number[some])
        for start, number, some in zip(given, numbers, longer, strict=True)
    ]


def suggestion_measures(trained: Three[Texts], held_out: Texts) -> list[Measured]:
    """Hit rates of suggestions and completions for queries of users who were held out."""
    return [
        *_measures(
            "next query",
            "of a held-out user's next queries in a thread, repeats apart,",
            next_queries(*trained, held_out),
        ),
        *_measures(
            "completion of the first word",
            "of a held-out user's queries with two keywords or more, given the first,",
            completions(0, *trained, held_out),
        ),
        *_measures(
            "completion of word and letter",
            "of the same, given the first keyword and the first letter of the second,",
            completions(1, *trained, held_out),
        ),
    ]


def _measures(name: str, of_what: str, pairs: list[Pairs]) -> list[Measured]:
    original, release, paper, asked = pairs
    three = original, release, paper
    cases = len(asked[0])
    rates = [
        measured(
            f"{name}: hits at {at}",
            f"Share {of_what} that are among the {at} most frequent ones in the data at hand.",
            three,
            lambda trained, at=at: hit_rate(trained, asked, at),  # type: ignore[misc]
            cases,
        )
        for at in AT
    ]
    any_at_all = measured(
        f"{name}: any suggestion",
        f"Share {of_what} for which the data at hand suggest anything, right or wrong.",
        three,
        lambda trained: coverage(trained, asked),
        cases,
    )
    return [*rates, any_at_all]


def _numbered(many: list[Texts]) -> list[Ints]:
    """The numbers of all queries, in the order of their keywords."""
    numbers, _ = encode_values([query for texts in many for query in texts.queries], "query")
    return np.split(numbers, _cuts(many))


def _cuts(many: list[Texts]) -> Ints:
    return np.cumsum([len(texts.queries) for texts in many])[:-1]
