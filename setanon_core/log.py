"""A query log in, a release with its ledger and its cost out: section 5 in memory.

Paper:      section 5, as a whole; Figure 5 shows what it does to one user.
Guarantee:  that of `pipeline`; the reference for every engine.
Complexity: that of the stages; everything is held in memory.
Deviation:  none of its own.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from setanon_core.columns import distinct_users, moments, number_users, number_values
from setanon_core.errors import MalformedInputError
from setanon_core.pipeline import Threads, group_threads, release_of, threads_of_rows
from setanon_core.release import Ledger, Release, ReleaseCost, ReleaseParams
from setanon_core.threads import separate

COLUMNS = ("user", "time", "query")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """Queries as columns: who typed what, and when (integers, or dates with times)."""

    users: Sequence[Hashable] | npt.NDArray[Any]
    times: Sequence[Any] | npt.NDArray[Any]
    queries: Sequence[str]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]]) -> "Log":
        """Take rows of (user, time, query)."""
        if not isinstance(rows, Iterable):
            raise MalformedInputError(
                f"a log must be rows of ({', '.join(COLUMNS)}); got a value of type "
                f"{type(rows).__name__}."
            )
        listed = list(rows)
        odd = sum(not _is_row(row) for row in listed)
        if odd:
            raise MalformedInputError(
                f"every row of a log must be ({', '.join(COLUMNS)}); {odd} of {len(listed)} are "
                "not. Pass columns as Log(users, times, queries)."
            )
        return cls(*([row[column] for row in listed] for column in range(len(COLUMNS))))


def _is_row(row: object) -> bool:
    """Whether it has three places: a mapping has keys, and text has letters."""
    return (
        hasattr(row, "__getitem__")
        and hasattr(row, "__len__")
        and not isinstance(row, str | bytes | Mapping)
        and len(row) == len(COLUMNS)
    )


def anonymize_log(
    queries: Log | Iterable[Sequence[Any]], params: ReleaseParams
) -> tuple[Release, Ledger, ReleaseCost]:
    """Separate threads, group them, edit their queries; verify, or refuse.

    `queries` are rows of (user, time, query), or the same as columns.

    >>> log = [("ann", 1, "pine straw"), ("bob", 2, "pine straw mulch"), ("cem", 3, "straw, pine")]
    >>> release, ledger, cost = anonymize_log(log, ReleaseParams(k=3))
    >>> sorted(release.queries)
    ['pine straw', 'pine straw', 'straw pine']
    """
    threads = threads_of(queries, params)
    return release_of(threads, group_threads(threads, params), params)


def threads_of(queries: Log | Iterable[Sequence[Any]], params: ReleaseParams) -> Threads:
    """Sections 5.1 and 5.3: threads, keywords and items."""
    log = queries if isinstance(queries, Log) else Log.from_rows(queries)
    texts: Any  # whatever is no text, `separate` refuses
    text, texts = number_values(log.queries, "query")
    user = number_users(log.users, len(text))
    times = moments(log.times)
    thread = separate(user, times, text, params.measure, texts=texts)
    order = np.lexsort((times, thread))
    users = distinct_users(log.users)
    return threads_of_rows(thread[order], user[order], text[order], texts, users, params)
