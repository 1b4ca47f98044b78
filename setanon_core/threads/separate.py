"""Separate user sessions into threads: the queries of one user on one topic.

With `unit="session"` or `"query"`, complete sessions or single queries take the place of threads.

Paper:      section 5.1, "Separating User Sessions into Threads".
Guarantee:  every query is in exactly one thread, and all queries of a thread are of one user; equal
            texts of a session are in one thread. The threads of a session depend on this session
            alone: not on other users, the order of rows (except for equal times), engine or
            machine. In the result, no two consecutive threads contain queries found similar.
Complexity: O(N log N) to sort N queries; min(q, W) comparisons for the q-th distinct text of a
            session, vectorized over all sessions; a merge round is linear in the similar pairs.
Deviation:  a query is compared with the last W = 200 distinct texts of its session (by their
            first occurrence), not with all: a user with 10,000 queries costs 2 million pairs, not
            50 million. Exact repeats are found at any distance. Where several earlier queries are
            similar, the paper does not define which one counts: we take the most recent.
            Only robots submit more than 10,000 distinct texts: from there on W is 8, and every
            100,000 queries of a user start a new session. So a robot with half of the log costs
            about as much time and memory as ordinary users.
            So with `unit="session"`, the paper's original problem, such a user has several records.
            Rows with equal times keep their order. With the measure `NEVER_SIMILAR`, exact repeats
            still share a thread: their sets of keywords are equal.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import (
    Bools,
    Ints,
    concat_ranges,
    integer_column,
    inverse_permutation,
    offsets_of,
    run_starts,
)
from setanon_core.columns.encode import encode_first_seen
from setanon_core.errors import MalformedInputError
from setanon_core.params import PairComparison, SimilarityMeasure, Unit
from setanon_core.ranges import AtLeast
from setanon_core.threads.edit_distance import EditDistance

WINDOW: Final = 200
"""Previous distinct texts of a session that a query is compared with."""

LARGE_SESSION: Final = 10_000
"""Distinct texts of a session after which the window is `SMALL_WINDOW`."""

SMALL_WINDOW: Final = 8

MAX_SESSION_QUERIES: Final = 100_000
"""Maximum number of queries in a session; the next query of the user starts a new session."""

PAIRS_PER_BATCH: Final = 1 << 17
"""Candidate pairs compared at once: enough for vectorization, few enough for the CPU cache."""


def separate_threads(  # noqa: PLR0913 - three columns and five options
    users: npt.ArrayLike,
    times: npt.ArrayLike,
    queries: Sequence[str] | npt.NDArray[Any],
    measure: SimilarityMeasure | None = None,
    *,
    texts: Sequence[str] | None = None,
    unit: Unit = "thread",
    window: int = WINDOW,
    max_session_queries: int = MAX_SESSION_QUERIES,
) -> Ints:
    """Return the thread number of each row, from 0 without gaps: by user, then by first query.

    With `texts`, `queries` are positions in it. The default measure is `EditDistance()`. Other
    units are numbered in the same order: sessions by user, queries by user, then by time.

    >>> log = ["pine straw", "caffeine", "pine straw delivery", "pine straw"]
    >>> separate_threads([7, 7, 7, 5], [1, 2, 3, 1], log).tolist()
    [1, 2, 1, 0]
    >>> separate_threads([7, 7, 7, 5], [1, 2, 3, 1], log, unit="session").tolist()
    [1, 1, 1, 0]
    """
    user, time = integer_column("users", users), integer_column("times", times)
    text, distinct = _number_texts(queries, texts)
    if not len(user) == len(time) == len(text):
        raise MalformedInputError(
            f"users, times and queries must have one value for each row; got {len(user)}, "
            f"{len(time)} and {len(text)} values."
        )
    AtLeast(1).check("window", window)
    AtLeast(1).check("max_session_queries", max_session_queries)
    order = time_order(user, time)
    session = _sessions(user[order], max_session_queries)
    if unit != "thread":
        position = inverse_permutation(order)
        return session[position] if unit == "session" else position
    row_text = text[order]
    # An entry is a distinct text of a session.
    _, first_row, entry_of_row = np.unique(
        session * len(distinct) + row_text, return_index=True, return_inverse=True
    )
    by_first_row = np.argsort(first_row)
    first_row = first_row[by_first_row]
    first_round = _first_round(
        session[first_row],
        row_text[first_row],
        distinct,
        EditDistance() if measure is None else measure,
        window,
    )
    thread_of_entry, threads = np.empty_like(by_first_row), np.empty_like(order)
    thread_of_entry[by_first_row] = _merge_consecutive(*first_round)
    threads[order] = thread_of_entry[entry_of_row]
    return threads


def time_order(user: Ints, time: Ints) -> Ints:
    """The order of rows by user, then by time; rows that are sorted already are not sorted again.

    >>> time_order(np.array([7, 7, 5]), np.array([2, 1, 3])).tolist()
    [2, 1, 0]
    """
    same_user, next_user = user[1:] == user[:-1], user[1:] > user[:-1]
    if (next_user | same_user & (time[1:] >= time[:-1])).all():
        return np.arange(len(user))
    return np.lexsort((time, user))


def _sessions(user: Ints, max_queries: int) -> Ints:
    """Number the sessions of users whose rows are consecutive.

    >>> _sessions(np.array([4, 4, 4, 7]), max_queries=2).tolist()
    [0, 0, 1, 2]
    """
    return np.cumsum(_positions_in_run(run_starts(user)) % max_queries == 0) - 1


def _positions_in_run(starts: Bools) -> Ints:
    """Position of each row within its run, from 0 at each start."""
    row = np.arange(len(starts))
    return row - np.maximum.accumulate(np.where(starts, row, 0))


def _number_texts(
    queries: Sequence[str] | npt.NDArray[Any], texts: Sequence[str] | None
) -> tuple[Ints, list[str]]:
    """The text number of each row, and the distinct texts."""
    values = list(queries if texts is None else texts)
    types = set(map(type, values))
    if not all(issubclass(type_, str) for type_ in types):
        names = ", ".join(sorted(type_.__name__ for type_ in types))
        raise MalformedInputError(
            f"every query must be text; got values of type {names}. Convert them to str."
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
    numbers, distinct = encode_first_seen(values)
    return numbers[codes], distinct


def _first_round(
    session: Ints, text: Ints, distinct: Sequence[str], measure: SimilarityMeasure, window: int
) -> tuple[Ints, Ints, Ints]:
    """The thread that each entry joins or starts, and the similar pairs between threads."""
    starts = np.flatnonzero(run_starts(session))
    sizes = np.diff(starts, append=len(session))
    position = np.arange(len(session)) - np.repeat(starts, sizes)
    windows = np.where(position < LARGE_SESSION, window, min(window, SMALL_WINDOW))
    reach = np.minimum(position, windows)
    # The only text of a session is never compared: do not prepare it, or search for it.
    compared = np.repeat(sizes > 1, sizes)
    # Numbered in order of appearance: texts that are compared are close together in memory.
    renumbered, used = encode_first_seen(text[compared].tolist())
    similar = measure.prepare([distinct[code] for code in used])
    numbers = np.zeros(len(text), np.int64)
    numbers[compared] = renumbered
    return _join_similar(reach, numbers, similar)


def _join_similar(reach: Ints, numbers: Ints, similar: PairComparison) -> tuple[Ints, Ints, Ints]:
    """Each entry joins the most recent similar entry among the `reach` entries before it."""
    root = np.arange(len(reach))  # first entry of each entry's thread
    offsets = offsets_of(reach)
    pairs = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    start = 0
    while start < len(reach):
        stop = int(np.searchsorted(offsets, offsets[start] + PAIRS_PER_BATCH, side="right")) - 1
        stop = max(stop, start + 1)  # at least one entry, even if it exceeds the batch size
        batch = np.arange(start, stop)
        later = np.repeat(batch, reach[batch])
        earlier = concat_ranges(batch - reach[batch], reach[batch])
        kept = np.flatnonzero(similar(numbers[earlier], numbers[later]))
        earlier, later = earlier[kept], later[kept]
        # `earlier` ascends within a run of `later`: the last of the run is the most recent.
        last = run_starts(later[::-1])[::-1]
        root[later[last]] = earlier[last]
        # Pointer jumping: path lengths halve each round.
        while not np.array_equal(jumped := root[root[start:stop]], root[start:stop]):
            root[start:stop] = jumped
        # Pairs within a thread are not needed again; those of a robot would fill the memory.
        between = root[earlier] != root[later]
        pairs.append((earlier[between], later[between]))
        start = stop
    threads = (np.cumsum(root == np.arange(len(root))) - 1)[root]
    earlier, later = map(np.concatenate, zip(*pairs, strict=True))
    return threads, earlier, later


def _merge_consecutive(threads: Ints, earlier: Ints, later: Ints) -> Ints:
    """Further rounds: merge consecutive threads with similar queries until none are left.

    Threads 0 and 1 merge in the first round; only then is thread 2 next to a similar one.

    >>> _merge_consecutive(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 2])).tolist()
    [0, 0, 0]
    """
    while True:
        ends = np.sort(np.stack((threads[earlier], threads[later])), axis=0)
        # Threads are numbered by session, then by first query, and a pair is of one session.
        consecutive = ends[1] - ends[0] == 1
        if not consecutive.any():
            return threads
        stays_apart = np.ones(threads.max() + 1, np.int64)
        stays_apart[ends[1][consecutive]] = 0
        threads = (np.cumsum(stays_apart) - 1)[threads]
        between = threads[earlier] != threads[later]
        earlier, later = earlier[between], later[between]
