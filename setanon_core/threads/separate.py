"""Separate user sessions into threads: the queries of one user on one topic.

Paper:      section 5.1, "Separating User Sessions into Threads".
Guarantee:  every query is in exactly one thread, and all queries of a thread are of one user; the
            same text of a session is always in one thread. Threads depend on nothing but their
            own session: not on other users, on the order of rows (but for equal times), on engine
            or machine. When done, no two consecutive threads hold queries that were found similar.
Complexity: O(N log N) to sort N queries; min(q, W) comparisons for the q-th distinct text of a
            session, in columns over all sessions at once; a round is linear in the similar pairs.
Deviation:  a query is compared with the last W = 200 distinct texts of its session (by their
            first occurrence), not with all: a user with 10,000 queries costs 2 million pairs, not
            50 million. Exact repeats are found however long ago. Where several earlier queries
            are similar, the paper does not say which one counts: we take the most recent.
            Nobody types 10,000 different texts; for what does, the window shrinks from there to 8,
            and a user's queries are a session for each 100,000 of them. So a robot with half of
            the log costs about as much as people would, in time and in memory.
            Equal times: the order of rows. With `ALONE` as measure, exact repeats still share a
            thread: as a set of keywords they are one.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, integer_column, offsets_of, run_starts
from setanon_core.columns.encode import encode_first_seen
from setanon_core.errors import MalformedInputError
from setanon_core.params import Similar, SimilarityMeasure
from setanon_core.ranges import AtLeast
from setanon_core.threads.similarity import EditDistance

WINDOW: Final = 200
"""Distinct texts of a session that a query is compared with."""

MANY: Final = 10_000
"""Distinct texts of a session from which on a text is compared with `FEW` only."""

FEW: Final = 8

MAX_SESSION_QUERIES: Final = 100_000
"""Queries of one user that are a session at most."""

PAIRS_AT_ONCE: Final = 1 << 17
"""Candidate pairs compared in one go: many enough for NumPy, few enough for the cache."""


def separate_threads(  # noqa: PLR0913 - three columns, and what to make of them
    users: npt.ArrayLike,
    times: npt.ArrayLike,
    queries: Sequence[str] | npt.NDArray[Any],
    measure: SimilarityMeasure | None = None,
    *,
    texts: Sequence[str] | None = None,
    window: int = WINDOW,
    longest: int = MAX_SESSION_QUERIES,
) -> Ints:
    """Return a thread number for each row, from 0 without gaps: by user, then by first query.

    With `texts`, `queries` are numbers of texts; the default measure is `EditDistance()`.

    >>> log = ["pine straw", "caffeine", "pine straw delivery", "pine straw"]
    >>> separate_threads([7, 7, 7, 5], [1, 2, 3, 1], log).tolist()
    [1, 2, 1, 0]
    """
    owner, time = integer_column("users", users), integer_column("times", times)
    text, distinct = _number_texts(queries, texts)
    if not len(owner) == len(time) == len(text):
        raise MalformedInputError(
            f"users, times and queries must have one value for each row; got {len(owner)}, "
            f"{len(time)} and {len(text)} values."
        )
    AtLeast(1).check("window", window)
    AtLeast(1).check("longest", longest)
    order = time_order(owner, time)
    session = _sessions(owner[order], longest)
    row_text = text[order]
    _, first, entry = np.unique(
        session * len(distinct) + row_text, return_index=True, return_inverse=True
    )
    # An entry is a distinct text of a session; entries stand in line as the session brings them.
    line = np.argsort(first)
    chosen = EditDistance() if measure is None else measure
    found = _first_round(session[first[line]], row_text[first[line]], distinct, chosen, window)
    of_entry, threads = np.empty_like(line), np.empty_like(order)
    of_entry[line] = _collapse(*found)
    threads[order] = of_entry[entry]
    return threads


def time_order(owner: Ints, time: Ints) -> Ints:
    """The rows by user, then by time; where an engine has sorted them, they are so already.

    >>> time_order(np.array([7, 7, 5]), np.array([2, 1, 3])).tolist()
    [2, 1, 0]
    """
    same, rises = owner[1:] == owner[:-1], owner[1:] > owner[:-1]
    if (rises | same & (time[1:] >= time[:-1])).all():
        return np.arange(len(owner))
    return np.lexsort((time, owner))


def _sessions(owner: Ints, longest: int) -> Ints:
    """Number the sessions of users whose rows stand together.

    >>> _sessions(np.array([4, 4, 4, 7]), longest=2).tolist()
    [0, 0, 1, 2]
    """
    return np.cumsum(_places(run_starts(owner)) % longest == 0) - 1


def _places(begins: npt.NDArray[np.bool_]) -> Ints:
    """Where each row stands, from 0 at the last beginning."""
    row = np.arange(len(begins))
    return row - np.maximum.accumulate(np.where(begins, row, 0))


def _number_texts(
    queries: Sequence[str] | npt.NDArray[Any], texts: Sequence[str] | None
) -> tuple[Ints, list[str]]:
    """Number the distinct texts; the number of each row's text, and the texts."""
    values = list(queries if texts is None else texts)
    kinds = set(map(type, values))
    if not all(issubclass(kind, str) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise MalformedInputError(
            f"every query must be text; got values of type {names}. "
            "Pass numbers of texts together with the texts."
        )
    if texts is None:
        return encode_first_seen(values)
    codes = integer_column("queries", queries)
    if len(codes) and not 0 <= codes.min() <= codes.max() < len(texts):
        raise MalformedInputError(
            f"queries must be numbers of the {len(texts)} texts, from 0; the largest is "
            f"{codes.max()} and the smallest {codes.min()}."
        )
    if len(set(values)) == len(values):
        return codes, values
    column, distinct = encode_first_seen(values)
    return column[codes], distinct


def _first_round(
    session: Ints, text: Ints, distinct: Sequence[str], measure: SimilarityMeasure, window: int
) -> tuple[Ints, Ints, Ints]:
    """The thread that each entry joins or starts, and the similar pairs between threads."""
    begins = np.flatnonzero(run_starts(session))
    sizes = np.diff(begins, append=len(session))
    place = np.arange(len(session)) - np.repeat(begins, sizes)
    reach = np.minimum(place, np.where(place < MANY, window, min(window, FEW)))
    # Who typed one text only needs no comparison: nobody prepares or searches for that text.
    compared = np.repeat(sizes > 1, sizes)
    # Numbered as they come, so that what is compared lies close together in memory.
    renumbered, used = encode_first_seen(text[compared].tolist())
    similar = measure.over([distinct[code] for code in used])
    numbers = np.zeros(len(text), np.int64)
    numbers[compared] = renumbered
    return _join(reach, numbers, similar)


def _join(reach: Ints, numbers: Ints, similar: Similar) -> tuple[Ints, Ints, Ints]:
    """Each entry joins the most recent similar one among the `reach` entries before it."""
    first = np.arange(len(reach))  # of each entry's thread
    bounds = offsets_of(reach)
    chunks = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    start = 0
    while start < len(reach):
        stop = int(np.searchsorted(bounds, bounds[start] + PAIRS_AT_ONCE, side="right")) - 1
        stop = max(stop, start + 1)  # one entry at least, however far it reaches
        own = np.arange(start, stop)
        later = np.repeat(own, reach[own])
        earlier = concat_ranges(own - reach[own], reach[own])
        kept = np.flatnonzero(similar(numbers[earlier], numbers[later]))
        earlier, later = earlier[kept], later[kept]
        # The earlier ones rise: the last of a run is the most recent.
        last = run_starts(later[::-1])[::-1]
        first[later[last]] = earlier[last]
        while not np.array_equal(further := first[first[start:stop]], first[start:stop]):
            # Everybody follows the one he follows: chains halve in each turn.
            first[start:stop] = further
        # Pairs within a thread have done their work; a robot's session would fill the memory.
        apart = first[earlier] != first[later]
        chunks.append((earlier[apart], later[apart]))
        start = stop
    threads = (np.cumsum(first == np.arange(len(first))) - 1)[first]
    earlier, later = map(np.concatenate, zip(*chunks, strict=True))
    return threads, earlier, later


def _collapse(threads: Ints, earlier: Ints, later: Ints) -> Ints:
    """More rounds: consecutive threads with similar queries become one, until none are left.

    Threads 0 and 1 collapse in the first round, and only then is 2 next to what it resembles.

    >>> _collapse(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 2])).tolist()
    [0, 0, 0]
    """
    while True:
        ends = np.sort(np.stack((threads[earlier], threads[later])), axis=0)
        # Threads are numbered by session and first query, and a pair is of one session.
        consecutive = ends[1] - ends[0] == 1
        if not consecutive.any():
            return threads
        begins = np.ones(threads.max() + 1, np.int64)
        begins[ends[1][consecutive]] = 0
        threads = (np.cumsum(begins) - 1)[threads]
        apart = threads[earlier] != threads[later]
        earlier, later = earlier[apart], later[apart]
