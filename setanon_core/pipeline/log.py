"""A query log in, a release with its ledger and its cost out: section 5 in memory.

Paper:      section 5, as a whole; Figure 5 shows what it does to one user.
Guarantee:  that of `pipeline`; the reference for every engine.
Complexity: that of the stages; everything is held in memory.
Deviation:  none of its own.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from setanon_core.columns.encode import encode_values
from setanon_core.columns.times import encode_times
from setanon_core.columns.users import distinct_users, encode_users
from setanon_core.model.inputs import Log
from setanon_core.model.publication import Ledger, Release, ReleaseCost
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.release_threads import build_release, group_threads, threads_of_rows
from setanon_core.threads.separate import separate_threads


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
    threads = threads_of_log(queries, params)
    return build_release(threads, group_threads(threads, params), params)


def threads_of_log(queries: Log | Iterable[Sequence[Any]], params: ReleaseParams) -> Threads:
    """Sections 5.1 and 5.3: threads, keywords and items."""
    log = queries if isinstance(queries, Log) else Log.from_rows(queries)
    texts: Any  # whatever is no text, `separate` refuses
    text, texts = encode_values(log.queries, "query")
    user = encode_users(log.users, len(text))
    times = encode_times(log.times)
    thread = separate_threads(user, times, text, params.measure, texts=texts)
    order = np.lexsort((times, thread))
    users = distinct_users(log.users)
    return threads_of_rows(thread[order], user[order], text[order], texts, users, params)
