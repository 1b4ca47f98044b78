"""A synthetic query log of any size: invented users, who search for topics, places and sites.

Shape:      by default that of the paper's log: 82K users and 412K queries, in which `separate`
            finds 166K threads of 2.54 keywords. Three Min-Hashes of whole threads (p = 3) make
            84K clusters of them, the largest with 2,700 threads; two make 66K, the largest with
            as many.
            Other sizes look alike: words grow with the square root of the threads, and the most
            popular site keeps its share of them.
Contents:   topics by popularity (Zipf), with words that refine them; places; words that go with
            everything; people's names, mostly searched for once; sites by name or address. Half
            of the rows repeat the query before, others add, drop, change or misspell a word. A
            few users write very much. Threads interleave a little.
Guarantee:  the same rows for the same arguments, on every machine. Rows are in order of users,
            then times. Chunks hold whole users, and nothing but one chunk is held in memory,
            beside the vocabulary.
"""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import AtLeast
from setanon_dagster.demo.words import ABSENT, HEAD, Ints, Words, drawn, ladder, misspelled

Columns = tuple[list[str], list[str], list[str]]
"""Users, times and queries, one value for each row."""

USERS: Final = 82_000
"""As many as the paper has, and 412K queries of theirs."""

MOST_PER_USER: Final = 1_000
"""Queries for each user, at most: a chunk holds whole users."""

ROWS_AT_ONCE: Final = 1 << 17
"""Rows of a chunk, at most: many enough for NumPy, few enough for any memory."""

STARTS: Final = 0.26
"""Chance that a user's next query starts a thread."""

TYPED: Final = 0.4
"""Chance that a later query of a thread is typed anew; the others repeat the one before."""

FORGOTTEN: Final = 0.12
"""Chance that a typed query lacks a given word of its thread: so words come, go and change."""

MISSPELLED: Final = 0.02
"""Chance that a typed query has a misspelling."""

DAYS: Final = 85
"""Days on which threads start."""

RETURN: Final = 2 * 24 * 60 * 60
"""Seconds until a thread's next query, at most; mostly it is minutes."""

BUSIEST: Final = 1 / 4096
"""Share of users who are as busy as one can be: so nobody writes half of a log."""


def write_demo_log(
    path: Path, users: int = USERS, queries: int | None = None, seed: int = 0
) -> int:
    """Write the log as tab-separated text with a header, and return the number of its rows.

    If the name ends in .gz, it is compressed. The log appears when it is complete, or not at all.
    """
    chunks = demo_rows(users, queries, seed)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    rows = 0
    try:
        with unfinished.open("wb") as file, _packed(file, path) as target:
            target.write(b"user\ttime\tquery\n")
            for columns in chunks:
                lines = map("\t".join, zip(*columns, strict=True))
                target.write(("\n".join(lines) + "\n").encode("ascii"))
                rows += len(columns[0])
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def demo_rows(users: int = USERS, queries: int | None = None, seed: int = 0) -> Iterator[Columns]:
    """Yield the log in chunks of whole users, in the order of users and times.

    >>> users, times, queries = next(demo_rows(users=2, queries=5, seed=21))
    >>> users[2:], queries[2:]
    (['u0000002', 'u0000002', 'u0000002'], ['puppy leash', 'puppy biscuits', 'puppy biscuits'])
    """
    AtLeast(1).check("users", users)
    AtLeast(0).check("seed", seed)
    total = users * 412 // 82 if queries is None else queries
    AtLeast(users).check("queries", total)
    if total > users * MOST_PER_USER:
        raise InvalidParameterError(
            f"queries must be at most {MOST_PER_USER} for each user; got {total} for {users} "
            "users. Ask for more users."
        )
    return _chunks(users, total, seed)


def _packed(file: IO[bytes], path: Path) -> IO[bytes] | gzip.GzipFile:
    # Without a name and a time inside, the same log is the same bytes.
    zipped = path.suffix == ".gz"
    return gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) if zipped else file


def _chunks(users: int, queries: int, seed: int) -> Iterator[Columns]:
    words = Words.for_threads(int(users + STARTS * (queries - users)))
    at_once = ROWS_AT_ONCE * users // queries
    for number, first in enumerate(range(0, users, at_once)):
        last = min(first + at_once, users)
        # The chunks' shares of the queries add up, whatever the number of chunks.
        rows = queries * last // users - queries * first // users
        names = [f"u{user:07d}" for user in range(first + 1, last + 1)]
        yield _chunk(np.random.default_rng((seed, number)), names, rows, words)


def _chunk(rng: np.random.Generator, names: list[str], rows: int, words: Words) -> Columns:
    user = np.repeat(np.arange(len(names)), _activity(rng, len(names), rows))
    starts = (np.diff(user, prepend=-1) > 0) | (rng.random(rows) < STARTS)
    typed = starts | (rng.random(rows) < TYPED)
    thread = np.cumsum(starts) - 1
    time = _times(rng, thread, starts)
    texts = _texts(rng, thread[typed], words)
    order = np.argsort(user << 32 | time, kind="stable")
    text = (np.cumsum(typed) - 1)[order]
    return (
        list(map(names.__getitem__, user.tolist())),
        _written(time[order]),
        list(map(texts.__getitem__, text.tolist())),
    )


def _activity(rng: np.random.Generator, users: int, rows: int) -> Ints:
    """Queries of each user, one at least: a few have very many."""
    half = np.sqrt(np.maximum(1 - rng.random(users), BUSIEST))
    extra = drawn(rng, ladder(1 / (half * np.sqrt(half))), rows - users)
    return 1 + np.bincount(extra, minlength=users)


def _times(rng: np.random.Generator, thread: Ints, starts: npt.NDArray[np.bool_]) -> Ints:
    """Seconds: soon after the thread's query before, or after days, with other threads between."""
    begin = rng.integers(0, DAYS * 24 * 60 * 60, int(thread[-1]) + 1)
    wait = rng.random(len(thread))
    for _ in range(3):
        wait *= wait
    waited = np.cumsum(np.where(starts, 0, 10 + (wait * RETURN).astype(np.int64)))
    times: Ints = (begin - waited[starts])[thread] + waited
    return times


def _written(seconds: Ints) -> list[str]:
    """Times as text, such as 2006-03-01 12:34:56."""
    iso = np.datetime_as_string(np.datetime64("2006-03-01", "s") + seconds)
    iso.view("U1").reshape(len(iso), -1)[:, len("2006-03-01")] = " "
    written: list[str] = iso.tolist()
    return written


def _texts(rng: np.random.Generator, thread: Ints, words: Words) -> list[str]:
    """The text of each typed query, given its thread."""
    table, names = words.draw(rng, int(thread[-1]) + 1)
    typed = table[thread]
    forgotten = rng.random(typed.shape) < FORGOTTEN
    forgotten[:, HEAD] = False
    typed[forgotten] = ABSENT
    sizes = np.count_nonzero(typed != ABSENT, axis=1)
    ends = np.cumsum(sizes)
    line = list(map((words.words + names).__getitem__, typed[typed != ABSENT].tolist()))
    wrong = np.flatnonzero(rng.random(len(sizes)) < MISSPELLED)
    places = (ends[wrong] - 1 - rng.integers(0, sizes[wrong])).tolist()
    for place, how in zip(places, rng.integers(0, 1 << 30, len(wrong)).tolist(), strict=True):
        line[place] = misspelled(line[place], how)
    bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    return [" ".join(line[start:end]) for start, end in bounds]
