"""Temporary tables of a release that several checks use; each is created once per connection.

The connection has the stages as views. The rules for sets and users are the verifier's.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of the verifier

from itertools import pairwise
from typing import Final

from setanon_core.params import FORMATS, Format
from setanon_core.ranges import check_choice
from setanon_dagster.verifier.release_format import (
    SET_OF_SPELLING,
    SPELLED_LIST,
    has_empty_keyword,
    is_not_a_sorted_set,
    layout_of,
    rows_with_previous,
    sorted_thread_spellings,
    thread_spellings,
)
from setanon_dagster.verifier.sql import Connection, execute, query_counts
from setanon_dagster.verifier.user_groups import create_groups

MALFORMED_SPELLING: Final = {
    "queries": has_empty_keyword(SPELLED_LIST["queries"]),
    "sets": is_not_a_sorted_set(SPELLED_LIST["sets"]),
}
"""SQL conditions: readers would split a published text into other keywords than were counted."""

SPELLING_TYPES: Final = {"queries": "VARCHAR", "sets": "VARCHAR[]"}

THREADS_AT_ONCE: Final = 2_000_000
"""Threads that are joined at once: more would need more memory than the default limit."""

HAS_RELEASE_TABLES: Final = (
    "SELECT count(*) AS n FROM duckdb_tables() WHERE table_name = 'groups' AND temporary"
)

ROW_KEY: Final = {"queries": "(thread, position)", "sets": "thread"}
"""The key of a row."""

STAGE_ROWS: Final = "(SELECT * RENAME (thread AS thread_id) FROM anonymized_threads)"
"""The rows of the stage with the columns of a release: the thread number in place of an id."""


def create_row_counts(connection: Connection, form: Format) -> None:
    """Create the table `row_counts`: rows, distinct rows and threads of the release.

    `unsorted` are rows that do not follow the row of their thread before them; `wrong_groups` are
    rows or threads without a group, or with another group than the thread has: a thread must have
    one group.
    """
    check_choice("format", form, FORMATS)
    layout = layout_of(form)
    # If the rows of each thread are adjacent and in order, they need not be distinguished.
    execute(
        connection,
        f"""CREATE TEMP TABLE IF NOT EXISTS row_counts AS
        SELECT count(*) AS rows, count(*) AS distinct_rows,
            count(*) FILTER (thread_id IS DISTINCT FROM previous_id) AS threads,
            count(*) FILTER ("group" IS NULL
                OR (thread_id = previous_id AND "group" <> previous_group)) AS wrong_groups,
            count(*) FILTER ((CASE WHEN thread_id = previous_id
                THEN position = previous_position + 1
                ELSE position = 0 END) IS NOT TRUE)
                + count(*) FILTER (position = 0)
                - count(DISTINCT thread_id) FILTER (position = 0) AS unsorted
        FROM ({rows_with_previous(layout, STAGE_ROWS, "group")})""",
    )
    if _is_unsorted(connection):
        execute(
            connection,
            f"""CREATE OR REPLACE TEMP TABLE row_counts AS SELECT count(*) AS rows,
            count(DISTINCT {ROW_KEY[layout]}) AS distinct_rows,
            count(DISTINCT thread) AS threads,
            (SELECT count(*) FROM (SELECT thread FROM anonymized_threads GROUP BY thread
                HAVING count(*) > count("group") OR min("group") <> max("group"))) AS wrong_groups,
            (SELECT unsorted FROM row_counts) AS unsorted FROM anonymized_threads""",
        )


def _is_unsorted(connection: Connection) -> bool:
    return query_counts(connection, "SELECT unsorted FROM row_counts")["unsorted"] > 0


def create_release_tables(connection: Connection, form: Format) -> None:
    """Create the tables `row_counts`, `release_threads`, `groups` and `lists`, once.

    `release_threads` has one row per published thread and ledger entry: `typed`, whether the source
    has the thread; `retained`, how many of its published keywords its user typed. `groups` has the
    threads, users and these sums per set, `lists` those per list of queries, with its set.
    """
    if query_counts(connection, HAS_RELEASE_TABLES)["n"]:
        return
    create_row_counts(connection, form)
    layout = layout_of(form)
    execute(
        connection,
        f"""CREATE OR REPLACE TEMP TABLE release_threads
        (thread BIGINT, "user" VARCHAR, spelling {SPELLING_TYPES[layout]},
            typed BOOLEAN, retained BIGINT)""",
    )
    spellings = thread_spellings if _is_unsorted(connection) else sorted_thread_spellings
    for condition in _thread_ranges(connection):
        rows = f"({STAGE_ROWS[1:-1]} WHERE {condition})"
        execute(
            connection,
            f"""INSERT INTO release_threads
            SELECT ledger.thread, "user", spelling, words IS NOT NULL,
                coalesce(len(list_filter(list_distinct({SPELLED_LIST[layout]}),
                    lambda keyword: list_contains(words, keyword))), 0)
            FROM ({spellings(layout, rows)}) AS published
            LEFT JOIN (SELECT thread, "user" FROM ledger WHERE {condition}) AS ledger
                ON ledger.thread = published.thread_id
            LEFT JOIN (SELECT thread, words FROM clusters WHERE {condition}) AS clusters
                ON clusters.thread = ledger.thread""",
        )
    create_groups(
        connection,
        'SELECT spelling, "user", typed, retained FROM release_threads',
        SET_OF_SPELLING[layout],
        {"typed": "count(*) FILTER (typed)", "retained": "sum(retained)"},
    )


def count_malformed(connection: Connection, form: Format) -> int:
    """Count the threads whose text readers would not split into the keywords that were counted."""
    malformed = MALFORMED_SPELLING[layout_of(form)]
    return query_counts(
        connection,
        f"SELECT coalesce(sum(threads), 0) AS n FROM lists WHERE ({malformed}) IS NOT FALSE",
    )["n"]


def _thread_ranges(connection: Connection) -> list[str]:
    """SQL conditions that split the thread numbers: joins of one range at a time bound memory."""
    counts = query_counts(
        connection,
        """SELECT count(*) AS threads, coalesce(min(thread), 0) AS low,
            coalesce(max(thread), 0) AS high FROM clusters""",
    )
    n = counts["threads"] // THREADS_AT_ONCE + 1
    width = (counts["high"] - counts["low"]) // n + 1
    bounds = [counts["low"] + width * number for number in range(1, n)]
    if not bounds:
        return ["true"]
    first = f"(thread IS NULL OR thread < {bounds[0]})"
    between = [f"thread >= {low} AND thread < {high}" for low, high in pairwise(bounds)]
    return [first, *between, f"thread >= {bounds[-1]}"]
