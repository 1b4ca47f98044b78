"""The stages compared with the rows that were read from the source: users and words are theirs.

A stage that names one user as three, or gives a user words of another, could make one user look
like k. Users and queries are compared as values, not as hashes. Times are not compared: they are
not published.

Guarantee:  `source_failures` is empty only if the rows of `threads` have the users and queries of
            `raw_log`, every thread has the one user of its rows, and its words are the keywords of
            its queries in order; for baskets, if every basket has the user and the items of
            `raw_baskets`; and if each of them has the attributes of its rows.
Complexity: one aggregation of the rows of both files, and one scan of threads and clusters.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from setanon_core.errors import InvalidParameterError
from setanon_dagster.verifier.attribute_tokens import STAGE_PREFIX
from setanon_dagster.verifier.source_words import Tokenizer, count_thread_faults
from setanon_dagster.verifier.sql import (
    Connection,
    Limits,
    create_view,
    open_connection,
    query_counts,
    redact_arrow_errors,
)

SENTENCES: Final[Mapping[str, str]] = {
    "lost_rows": "the threads must have all rows of the source; {} are missing",
    "added_rows": "the threads must have rows of the source only; {} are not in it",
    "wrong_users": "each thread must have the user of its queries in the source; {} have another",
    "wrong_words": "each thread must have the keywords of its queries in order; {} have others",
    "without_rows": "each thread must have queries, and be listed once; {} differ",
    "lost_items": "the baskets must have all items of the source; {} are missing",
    "added_items": "the baskets must have items and users of the source only; {} are not in it",
    "wrong_values": "each thread must have the attributes of its rows in the source; {} differ",
    "repeated_baskets": "each basket must be one record with an item; {} differ",
}
"""A message for each kind of fault."""

ROWS: Final = """
    SELECT coalesce(sum(n) FILTER (n > 0), 0)::BIGINT AS lost_rows,
        coalesce(-sum(n) FILTER (n < 0), 0)::BIGINT AS added_rows
    FROM (SELECT sum(n) AS n FROM (
            SELECT "user", query{attributes}, 1 AS n FROM raw_log
            UNION ALL SELECT "user", query{attributes}, -1 FROM threads)
        WHERE {condition} GROUP BY "user", query{attributes} HAVING sum(n) <> 0)"""

ROWS_AT_ONCE: Final = 20_000_000
"""Rows of the source whose users are compared at once: DuckDB cannot spill more in 0.5 GB."""

ITEMS: Final = """
    SELECT coalesce(sum(n) FILTER (n > 0), 0)::BIGINT AS lost_items,
        coalesce(-sum(n) FILTER (n < 0), 0)::BIGINT AS added_items,
        (SELECT count(*) - count(DISTINCT name) FILTER (len(words) > 0) FROM clusters)
            AS repeated_baskets
    FROM (SELECT sum(n) AS n FROM (
            SELECT record AS name, "user", item, 1 AS n FROM raw_baskets
            UNION ALL SELECT name, "user", unnest(words), -1 FROM clusters)
        GROUP BY name, "user", item HAVING sum(n) <> 0)"""


WRONG_VALUES: Final = """
    SELECT count(*) AS wrong_values FROM (
        SELECT {key}{lists} FROM {rows} GROUP BY {key}) AS due
    FULL JOIN clusters ON clusters.{name} = due.{key} WHERE {differs}"""


def source_failures(
    stages: Mapping[str, Path],
    tokenizer: Tokenizer,
    limits: Limits,
    *,
    splits_at_blanks: bool,
    attributes: Sequence[str] = (),
) -> list[str]:
    """Messages, with counts and without data, about all differences of the stages to the source.

    `stages` has the files by stage name: clusters, and raw_log and threads, or raw_baskets.
    `tokenizer` splits a query into keywords; `splits_at_blanks`: queries of ASCII letters and
    digits are split at blanks, as by the default tokenizer.
    """
    if "raw_baskets" in stages:
        names = ("raw_baskets", "clusters")
    elif {"raw_log", "threads"} <= stages.keys():
        names = ("raw_log", "threads")
    else:
        raise InvalidParameterError(
            "raw_log and threads, or raw_baskets, must be passed: a release is compared with the "
            "rows of its source."
        )
    with open_connection(**limits) as connection:
        for name in names:
            create_view(connection, name, stages[name])
        if "threads" not in names:
            faults = query_counts(connection, ITEMS)
        else:
            faults = _compare_rows(connection, attributes)
            create_view(connection, "clusters", stages["clusters"])
            with redact_arrow_errors():
                faults |= count_thread_faults(
                    connection, tokenizer, splits_at_blanks=splits_at_blanks
                )
        if attributes:
            faults |= _count_wrong_values(connection, names[0], attributes)
    return [SENTENCES[name].format(count) for name, count in faults.items() if count]


def _count_wrong_values(
    connection: Connection, raw: str, attributes: Sequence[str]
) -> dict[str, int]:
    """Count the threads, or baskets, that do not have exactly the values of their rows."""
    columns = [f"{STAGE_PREFIX}{name}" for name in attributes]
    of_log = ("threads", "thread", "thread")
    rows, key, name = of_log if raw == "raw_log" else ("raw_baskets", "record", "name")
    lists = "".join(
        f", coalesce(list_sort(list(DISTINCT {each}) FILTER ({each} IS NOT NULL)), []) AS {each}"
        for each in columns
    )
    differs = " OR ".join(f"due.{each} IS DISTINCT FROM clusters.{each}" for each in columns)
    return query_counts(
        connection, WRONG_VALUES.format(key=key, name=name, lists=lists, rows=rows, differs=differs)
    )


def _compare_rows(connection: Connection, attributes: Sequence[str]) -> dict[str, int]:
    """Count the rows that only the source has, and those that only the threads have.

    Users are split by a hash, which only bounds the memory: users and queries are compared whole.
    """
    rows = query_counts(connection, "SELECT count(*) AS n FROM raw_log")["n"]
    parts = rows // ROWS_AT_ONCE + 1
    columns = "".join(f", {STAGE_PREFIX}{name}" for name in attributes)
    total = {"lost_rows": 0, "added_rows": 0}
    for part in range(parts):
        condition = "true" if parts == 1 else f'coalesce(hash("user"), 0) % {parts} = {part}'
        counts = query_counts(connection, ROWS.format(condition=condition, attributes=columns))
        total = {name: count + counts[name] for name, count in total.items()}
    return total
