"""Anonymize a query log in memory: all of section 5.

Paper:      section 5; Figure 5 shows the result for one user.
Guarantee:  that of `build_release`; every engine must return the same release.
Complexity: that of the stages; everything is held in memory.
Deviation:  that of the stages.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from setanon_core.attributes.encode import column_of_rows
from setanon_core.columns.arrays import concat_ranges, offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.tables import Table
from setanon_core.columns.times import encode_times
from setanon_core.columns.user_names import merge_spellings
from setanon_core.columns.users import distinct_users, encode_users
from setanon_core.keywords.tokenize import tokenize_all
from setanon_core.model.inputs import Log
from setanon_core.model.publication import ReleaseResult
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import (
    Combinations,
    Format,
    GrouperName,
    Identity,
    Method,
    Operations,
    ReleaseParams,
    SimilarityMeasure,
    Spelling,
    Tokenizer,
    Unit,
    UserNames,
)
from setanon_core.pipeline.build_release import build_release
from setanon_core.pipeline.build_threads import build_threads
from setanon_core.pipeline.group_threads import group_threads
from setanon_core.threads.separate import separate_threads


def anonymize_log(  # noqa: PLR0913 - columns and parameters, keyword-only
    log: Log | Table | Iterable[Sequence[Any]],
    k: int,
    *,
    user: str = "user",
    time: str = "time",
    query: str = "query",
    method: Method = "best",
    grouper: GrouperName | None = None,
    operations: Operations = "both",
    combinations: Combinations | None = None,
    min_owners: int | None = None,
    seed: int = 0,
    user_names: UserNames = "folded",
    p: int = 2,
    identity: Identity = "exact",
    spelling: Spelling = "common",
    unit: Unit = "thread",
    format: Format = "queries",  # noqa: A002 - the name of the parameter everywhere
    attributes: Sequence[str] = (),
    measure: SimilarityMeasure | None = None,
    tokenizer: Tokenizer | None = None,
    secret: bytes | None = None,
) -> ReleaseResult:
    """Separate threads, group them, edit their queries and verify the release.

    `log` is a pandas or Polars data frame, an Arrow table, a mapping of columns, a `Log`, or rows
    of (user, time, query). `user`, `time` and `query` name the columns of a table, `attributes`
    further ones. Times are datetimes, dates, texts in ISO format, or numbers of any one unit; those
    without a zone are read as UTC. The other parameters are those of `ReleaseParams`; a random
    secret is generated if none is passed.

    >>> log = [("ann", 1, "pine straw"), ("bob", 2, "pine straw mulch"), ("cem", 3, "straw, pine")]
    >>> result = anonymize_log(log, k=3)
    >>> sorted(result.release.queries)
    ['pine straw', 'pine straw', 'pine straw']
    >>> result.cost
    ReleaseCost(k=3, 3 threads, 7 keywords, cost 1, retained 85.7%)
    """
    secret_option: dict[str, Any] = {} if secret is None else {"secret": secret}
    params = ReleaseParams(
        k=k,
        method=method,
        grouper=grouper,
        operations=operations,
        combinations=combinations,
        min_owners=min_owners,
        seed=seed,
        user_names=user_names,
        p=p,
        identity=identity,
        spelling=spelling,
        unit=unit,
        format=format,
        attributes=tuple(attributes),
        measure=measure,
        tokenizer=tokenizer,
        **secret_option,
    )
    columns = Log.from_data(log, user=user, time=time, query=query, attributes=params.attributes)
    return release_log(columns, params)


def release_log(log: Log, params: ReleaseParams) -> ReleaseResult:
    """Anonymize a log with parameters that are checked already."""
    threads = threads_of_log(log, params)
    result = group_threads(threads, params)
    return build_release(threads, result, params, constructor=log.constructor)


def threads_of_log(log: Log | Iterable[Sequence[Any]], params: ReleaseParams) -> Threads:
    """Sections 5.1 and 5.3: separate threads, then tokenize and number items."""
    log = Log.from_data(log)
    users = merge_spellings(log.users, params.user_names)
    texts: Any  # `separate_threads` refuses what is not text
    text, texts = encode_values(log.queries, "query")
    user = encode_users(users, len(text))
    times = encode_times(log.times)
    thread = separate_threads(user, times, text, params.measure, texts=texts, unit=params.unit)
    attributes = {name: column_of_rows(thread, log.attributes[name]) for name in log.attributes}
    order = np.lexsort((times, thread))
    thread, user, text = thread[order], user[order], text[order]
    words, bounds, vocabulary = tokenize_all(texts, params.tokenizer)
    sizes = np.diff(bounds)[text]
    typed = Queries(words[concat_ranges(bounds[text], sizes)], offsets_of(sizes), thread)
    owner = np.zeros(int(thread.max(initial=-1)) + 1, np.int64)
    owner[thread] = user
    return build_threads(
        typed,
        vocabulary,
        owner,
        distinct_users(users),
        identity=params.identity,
        attributes=attributes,
    )
