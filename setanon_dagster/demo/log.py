"""A synthetic query log of any size: queries about topics, places, people and sites.

Shape:      by default that of the paper's log: 82K users and 412K queries, which separate into
            166K threads of 2.54 keywords. Three Min-Hashes per thread (p = 3) give 84K clusters,
            the largest with 2,700 threads; two give 66K, the largest with 2,700 threads too.
            Other sizes have a similar shape: the vocabulary grows with the square root of the
            number of threads, and the most popular site keeps its share of the threads.
Contents:   topics by popularity (Zipf), with words that refine them; places; words common to all
            topics; names of people, mostly searched for once; sites by name or address. Half of
            the rows repeat the previous query; others add, drop, change or misspell a word. A few
            users write many queries. Some threads of a user overlap in time.
Guarantee:  equal arguments give equal rows on every machine. Rows are sorted by user, then time.
            Each chunk has all rows of its users. Only the vocabulary and one chunk are in memory.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import AtLeast
from setanon_dagster.demo.words import (
    ABSENT,
    HEAD,
    Vocabulary,
    cumulative_shares,
    draw_indices,
    misspell,
)
from setanon_dagster.storage.temporary import temporary_folder

Columns = tuple[list[str], list[str], list[str]]
"""Users, times and queries, one value per row."""

USERS: Final = 82_000
"""Users of the paper's log, which has 412K queries."""

MAX_QUERIES_PER_USER: Final = 1_000
"""On average; limits the size of a chunk, which has all rows of its users."""

CHUNK_ROWS: Final = 1 << 17
"""Maximum number of rows per chunk: large enough for NumPy, small enough for memory."""

NEW_THREAD: Final = 0.26
"""Probability that the next query of a user starts a thread."""

NEW_TEXT: Final = 0.4
"""Probability that a later query of a thread has a new text; others repeat the previous one."""

OMITTED: Final = 0.12
"""Probability that a new text omits a given word of its thread."""

MISSPELLED: Final = 0.02
"""Probability that a new text has a misspelled word."""

DAYS: Final = 85
"""Number of days on which threads start."""

MAX_PAUSE: Final = 2 * 24 * 60 * 60
"""Maximum number of seconds between two queries of a thread; most pauses are minutes."""

MOST_ACTIVE: Final = 1 / 4096
"""Share of users with the maximum activity: without a maximum, one user could dominate."""


def write_demo_log(
    path: Path, users: int = USERS, queries: int | None = None, seed: int = 0
) -> int:
    """Write the log atomically as tab-separated text with a header; return its number of rows.

    A name that ends in .gz gives a gzip file.
    """
    chunks = demo_rows(users, queries, seed)
    rows = 0
    with temporary_folder(path.parent) as folder:
        temporary = folder / path.name
        with temporary.open("wb") as file, _compressed(file, path) as target:
            target.write(b"user\ttime\tquery\n")
            for columns in chunks:
                lines = map("\t".join, zip(*columns, strict=True))
                target.write(("\n".join(lines) + "\n").encode("ascii"))
                rows += len(columns[0])
        temporary.replace(path)
    return rows


def demo_rows(users: int = USERS, queries: int | None = None, seed: int = 0) -> Iterator[Columns]:
    """Yield the log in chunks, sorted by user and time; a user is in one chunk only.

    >>> users, times, queries = next(demo_rows(users=2, queries=5, seed=21))
    >>> users[2:], queries[2:]
    (['u0000002', 'u0000002', 'u0000002'], ['puppy leash', 'puppy biscuits', 'puppy biscuits'])
    """
    AtLeast(1).check("users", users)
    AtLeast(0).check("seed", seed)
    total = users * 412 // 82 if queries is None else queries
    AtLeast(users).check("queries", total)
    if total > users * MAX_QUERIES_PER_USER:
        raise InvalidParameterError(
            f"queries must be at most {MAX_QUERIES_PER_USER} per user; got {total} for {users} "
            "users. Increase users."
        )
    return _chunks(users, total, seed)


def _compressed(file: IO[bytes], path: Path) -> IO[bytes] | gzip.GzipFile:
    if path.suffix != ".gz":
        return file
    # No file name and no time in the header: equal logs give equal bytes.
    return gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0)


def _chunks(users: int, queries: int, seed: int) -> Iterator[Columns]:
    vocabulary = Vocabulary.for_threads(int(users + NEW_THREAD * (queries - users)))
    users_per_chunk = CHUNK_ROWS * users // queries
    for number, first in enumerate(range(0, users, users_per_chunk)):
        last = min(first + users_per_chunk, users)
        # Rounded so that the rows of all chunks sum to `queries`.
        rows = queries * last // users - queries * first // users
        names = [f"u{user:07d}" for user in range(first + 1, last + 1)]
        yield _chunk(np.random.default_rng((seed, number)), names, rows, vocabulary)


def _chunk(
    rng: np.random.Generator, names: list[str], rows: int, vocabulary: Vocabulary
) -> Columns:
    user = np.repeat(np.arange(len(names)), _activity(rng, len(names), rows))
    starts = (np.diff(user, prepend=-1) > 0) | (rng.random(rows) < NEW_THREAD)
    new_text = starts | (rng.random(rows) < NEW_TEXT)
    thread = np.cumsum(starts) - 1
    time = _times(rng, thread, starts)
    texts = _texts(rng, thread[new_text], vocabulary)
    order = np.argsort(user << 32 | time, kind="stable")
    text = (np.cumsum(new_text) - 1)[order]
    return (
        list(map(names.__getitem__, user.tolist())),
        _format_times(time[order]),
        list(map(texts.__getitem__, text.tolist())),
    )


def _activity(rng: np.random.Generator, users: int, rows: int) -> Ints:
    """Number of queries per user, at least one; a few users have many."""
    root = np.sqrt(np.maximum(1 - rng.random(users), MOST_ACTIVE))
    extra = draw_indices(rng, cumulative_shares(1 / (root * np.sqrt(root))), rows - users)
    return 1 + np.bincount(extra, minlength=users)


def _times(rng: np.random.Generator, thread: Ints, starts: npt.NDArray[np.bool_]) -> Ints:
    """Time of each query in seconds: minutes, rarely days, after the previous one of its thread."""
    thread_start = rng.integers(0, DAYS * 24 * 60 * 60, int(thread[-1]) + 1)
    pause = rng.random(len(thread))
    for _ in range(3):
        pause *= pause
    elapsed = np.cumsum(np.where(starts, 0, 10 + (pause * MAX_PAUSE).astype(np.int64)))
    times: Ints = (thread_start - elapsed[starts])[thread] + elapsed
    return times


def _format_times(seconds: Ints) -> list[str]:
    """Times as text, such as 2006-03-01 12:34:56."""
    iso = np.datetime_as_string(np.datetime64("2006-03-01", "s") + seconds)
    iso.view("U1").reshape(len(iso), -1)[:, len("2006-03-01")] = " "
    times: list[str] = iso.tolist()
    return times


def _texts(rng: np.random.Generator, thread: Ints, vocabulary: Vocabulary) -> list[str]:
    """New texts; `thread` has the thread of each."""
    table, names = vocabulary.draw(rng, int(thread[-1]) + 1)
    words = table[thread]
    omitted = rng.random(words.shape) < OMITTED
    omitted[:, HEAD] = False
    words[omitted] = ABSENT
    sizes = np.count_nonzero(words != ABSENT, axis=1)
    ends = np.cumsum(sizes)
    spelled = list(map((vocabulary.words + names).__getitem__, words[words != ABSENT].tolist()))
    misspelled = np.flatnonzero(rng.random(len(sizes)) < MISSPELLED)
    positions = (ends[misspelled] - 1 - rng.integers(0, sizes[misspelled])).tolist()
    seeds = rng.integers(0, 1 << 30, len(misspelled)).tolist()
    for position, seed in zip(positions, seeds, strict=True):
        spelled[position] = misspell(spelled[position], seed)
    bounds = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    return [" ".join(spelled[start:end]) for start, end in bounds]
