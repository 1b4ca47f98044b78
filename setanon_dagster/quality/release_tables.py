"""Temporary tables of a release that several checks use; each is created once per connection.

The connection has the stages as views. The rules for ids, sets and users are the verifier's.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of the verifier

from typing import Final

from setanon_core.params import FORMATS, Format
from setanon_core.ranges import check_choice
from setanon_dagster.verifier.release_format import (
    KEYWORD_LIST,
    SET_OF_SPELLING,
    SPELLED_LIST,
    WELL_FORMED_ID,
    has_empty_keyword,
    is_not_a_sorted_set,
    layout_of,
    rows_with_previous,
    sets_of_spellings,
    thread_spellings,
)
from setanon_dagster.verifier.sql import Connection, execute, query_counts
from setanon_dagster.verifier.user_groups import users_per_set

ROWS: Final = {
    "queries": """SELECT thread_id, "group", coalesce(query, '') AS query
        FROM anonymized_threads""",
    "sets": 'SELECT thread_id, "group", keywords FROM anonymized_threads',
}

WRONG_GROUP: Final = {
    "queries": 'min("group") IS NULL OR min("group") <> max("group") AS wrong_group',
    "sets": '"group" IS NULL AS wrong_group',
}
"""A thread must have one group."""

MALFORMED_SPELLING: Final = {
    "queries": f"{has_empty_keyword(SPELLED_LIST['queries'])} AS malformed_spelling",
    "sets": f"{is_not_a_sorted_set(SPELLED_LIST['sets'])} AS malformed_spelling",
}
"""Readers must split a published text into the keywords that were counted."""

ROW_KEY: Final = {"queries": "(thread_id, position)", "sets": "thread_id"}
"""The key of a row."""


def create_row_counts(connection: Connection, form: Format) -> None:
    """Create the table `row_counts`: rows, distinct rows and threads of the release."""
    check_choice("format", form, FORMATS)
    layout = layout_of(form)
    # Sorted rows are counted in one pass; otherwise distinct rows and threads are counted.
    execute(
        connection,
        f"""CREATE TEMP TABLE IF NOT EXISTS row_counts AS
        SELECT count(*) AS rows, count(*) AS distinct_rows,
            count(*) FILTER (thread_id IS DISTINCT FROM previous_id) AS threads,
            count(*) FILTER ((thread_id IS NOT NULL AND position IS NOT NULL
                AND CASE WHEN thread_id = previous_id THEN position > previous_position
                ELSE previous_id IS NULL OR thread_id > previous_id END) IS NOT TRUE) AS unsorted
        FROM ({rows_with_previous(layout, "anonymized_threads")})""",
    )
    if query_counts(connection, "SELECT unsorted FROM row_counts")["unsorted"]:
        execute(
            connection,
            f"""CREATE OR REPLACE TEMP TABLE row_counts AS SELECT count(*) AS rows,
            count(DISTINCT {ROW_KEY[layout]}) AS distinct_rows,
            count(DISTINCT thread_id) AS threads, 0 AS unsorted FROM anonymized_threads""",
        )


def create_release_tables(connection: Connection, form: Format) -> None:
    """Create the tables `row_counts`, `release_threads` and `groups`.

    `release_threads` has one row per published thread and ledger entry. `groups` has per set: its
    users and threads; `typed`, the threads that the source has; `retained`, the keywords of the
    set that their users typed in these threads; `malformed`, the threads with a malformed id,
    group or text.
    """
    create_row_counts(connection, form)
    layout = layout_of(form)
    spellings = thread_spellings(layout, ROWS[layout], WRONG_GROUP[layout])
    execute(
        connection,
        f"""CREATE TEMP TABLE IF NOT EXISTS release_threads AS SELECT thread, "user", spelling,
            wrong_group OR NOT coalesce({WELL_FORMED_ID}, false) AS malformed
        FROM ({spellings}) LEFT JOIN ledger USING (thread_id)""",
    )
    sets = sets_of_spellings("release_threads", SET_OF_SPELLING[layout], MALFORMED_SPELLING[layout])
    members = f"""SELECT sets.keywords, release_threads."user", clusters.words,
            malformed OR coalesce(malformed_spelling, true) AS malformed
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
