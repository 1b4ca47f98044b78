"""Temporary tables of a release that several checks use; each is created once per connection.

The connection has the stages as views. The rules for sets and users are the verifier's.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of the verifier

from typing import Final

from setanon_core.params import FORMATS, Format
from setanon_core.ranges import check_choice
from setanon_dagster.verifier.release_format import (
    KEYWORD_LIST,
    SET_OF_SPELLING,
    SPELLED_LIST,
    has_empty_keyword,
    is_not_a_sorted_set,
    layout_of,
    rows_with_previous,
    sets_of_spellings,
    sorted_thread_spellings,
    thread_spellings,
)
from setanon_dagster.verifier.sql import Connection, execute, query_counts
from setanon_dagster.verifier.user_groups import users_per_set

MALFORMED_SPELLING: Final = {
    "queries": f"{has_empty_keyword(SPELLED_LIST['queries'])} AS malformed_spelling",
    "sets": f"{is_not_a_sorted_set(SPELLED_LIST['sets'])} AS malformed_spelling",
}
"""Readers must split a published text into the keywords that were counted."""

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
    """Create the tables `row_counts`, `release_threads`, `groups` and `lists`.

    `release_threads` has one row per published thread and ledger entry. `groups` has per set: its
    users and threads; `typed`, the threads that the source has; `retained`, the keywords of the
    set that their users typed in these threads; `malformed`, the threads with a malformed text.
    `lists` has the users and threads per list of queries; it is empty for "sets".
    """
    create_row_counts(connection, form)
    layout = layout_of(form)
    if _is_unsorted(connection):
        spellings = thread_spellings(layout, STAGE_ROWS)
    else:
        spellings = sorted_thread_spellings(layout, STAGE_ROWS)
    execute(
        connection,
        f"""CREATE TEMP TABLE IF NOT EXISTS release_threads AS
        SELECT ledger.thread, "user", spelling
        FROM ({spellings}) AS published LEFT JOIN ledger ON ledger.thread = published.thread_id""",
    )
    lists = f"""SELECT spelling AS keywords, "user" FROM release_threads
        WHERE {layout == "queries"}"""
    execute(connection, f"CREATE TEMP TABLE IF NOT EXISTS lists AS {users_per_set(lists, {})}")
    sets = sets_of_spellings("release_threads", SET_OF_SPELLING[layout], MALFORMED_SPELLING[layout])
    members = f"""SELECT sets.keywords, release_threads."user", clusters.words,
            coalesce(malformed_spelling, true) AS malformed
        FROM release_threads LEFT JOIN ({sets}) AS sets USING (spelling)
        LEFT JOIN clusters USING (thread)"""
    keywords = KEYWORD_LIST[layout]
    sums = {
        "typed": "count(words)",
        "retained": f"""sum(len(list_filter({keywords},
            lambda keyword: list_contains(words, keyword))))""",
        "malformed": "count(*) FILTER (malformed)",
    }
    execute(
        connection,
        f"CREATE TEMP TABLE IF NOT EXISTS groups AS {users_per_set(members, sums)}",
    )
