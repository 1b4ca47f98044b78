"""Counts of a release for the expectations: small pandas frames of numbers, no data.

Each function takes a connection with the stages as views. The rules for sets, users and owners
are the verifier's. A file that lacks a column raises an error.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of the verifier

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from setanon_core.params import Format
from setanon_dagster.quality.release_tables import (
    count_malformed,
    create_release_tables,
    create_row_counts,
)
from setanon_dagster.stages.cost_report import TOTAL
from setanon_dagster.verifier.keyword_owners import owners_per_keyword
from setanon_dagster.verifier.ledger_entries import count_wrong_entries
from setanon_dagster.verifier.release_format import (
    KEYWORD_LIST,
    RELEASE_COLUMNS,
    layout_of,
    published_keywords,
)
from setanon_dagster.verifier.sql import Connection, query_counts
from setanon_dagster.verifier.user_groups import group_sizes

if TYPE_CHECKING:
    import pandas as pd

STAGE_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    form: {"thread": "BIGINT", "group": "BIGINT", **dict(columns[1:])}
    for form, columns in RELEASE_COLUMNS.items()
}
"""Columns of the stage `anonymized_threads` by format: those of the release, with the thread number
in place of the id, and the group. Neither of the two is published."""


def user_counts(connection: Connection, form: Format) -> "pd.DataFrame":
    """Numbers of sets and threads by users per set."""
    create_release_tables(connection, form)
    return _frame(connection, ("users", "sets", "threads"), group_sizes(connection))


def list_counts(connection: Connection, form: Format) -> "pd.DataFrame":
    """Numbers of lists of queries and threads by users per list."""
    create_release_tables(connection, form)
    return _frame(connection, ("users", "lists", "threads"), group_sizes(connection, "lists"))


def owner_counts(connection: Connection, form: Format, enough: int) -> "pd.DataFrame":
    """Number of published keywords by their number of owners, counted up to `enough`."""
    create_release_tables(connection, form)
    counts = owners_per_keyword(
        connection, published_keywords(layout_of(form)), "clusters", max(int(enough), 1)
    )
    return _frame(connection, ("owners", "keywords"), counts)


def _frame(
    connection: Connection, columns: tuple[str, ...], rows: Sequence[tuple[int, ...]]
) -> "pd.DataFrame":
    """A frame of counts; an empty release has one row of zeros."""
    import pandas as pd

    if not query_counts(connection, "SELECT rows FROM row_counts")["rows"]:
        rows = [*rows, (0,) * len(columns)]
    return pd.DataFrame(rows, columns=list(columns))


def entry_counts(connection: Connection, form: Format) -> "pd.DataFrame":
    """Rows and ledger entries; those that are repeated, malformed, or without each other.

    The ledger is compared with the clusters too: wrong users could make one user look like k.
    """
    create_release_tables(connection, form)
    wrong_users = count_wrong_entries(connection)["wrong_users"]
    malformed = count_malformed(connection, form)
    no_position = "false" if form == "sets" else "position IS NULL"
    return connection.execute(
        f"""
        SELECT
            (SELECT rows FROM row_counts) AS rows,
            (SELECT distinct_rows FROM row_counts) AS distinct_rows,
            (SELECT count(*) FROM ledger) AS entries,
            -- A thread with two entries is joined twice; a thread without any is unmatched.
            (SELECT least(count(*) + (SELECT threads FROM row_counts)
                    - (SELECT count(*) FROM release_threads), count(DISTINCT thread))
                FROM ledger) AS distinct_entries,
            {malformed} + (SELECT wrong_groups FROM row_counts)
                + (SELECT count(*) FROM anonymized_threads WHERE {no_position}) AS malformed,
            -- Threads without an entry, entries without a thread, entries with a wrong user.
            (SELECT count(*) - count(thread) FROM release_threads)
                + abs((SELECT count(*) FROM ledger) - (SELECT count(thread) FROM release_threads))
                + {wrong_users} AS unmatched"""
    ).df()


def left_counts(connection: Connection, form: Format) -> "pd.DataFrame":
    """Threads of the source, and those that are left to publish."""
    create_row_counts(connection, form)
    return connection.execute(
        "SELECT (SELECT count(*) FROM clusters) AS threads, threads AS left FROM row_counts"
    ).df()


def column_types(connection: Connection) -> "pd.DataFrame":
    """Name and type of each column of the stage that is published."""
    return connection.execute(
        "SELECT column_name AS name, column_type AS type FROM (DESCRIBE anonymized_threads)"
    ).df()


def stage_rows(connection: Connection, form: Format, k: int) -> "pd.DataFrame":
    """For each stage: the numbers of input rows, of rows kept, and of rows set aside."""
    create_row_counts(connection, form)
    has_threads = "SELECT count(*) AS n FROM duckdb_views() WHERE view_name = 'threads'"
    source = (
        """
        SELECT 'threads' AS stage, (SELECT count(*) FROM raw_log) AS input_rows,
            (SELECT count(*) FROM threads) AS kept, 0::BIGINT AS set_aside
        UNION ALL
        SELECT 'clusters', (SELECT count(DISTINCT thread) FROM threads),
            (SELECT count(*) FROM clusters), 0"""
        if query_counts(connection, has_threads)["n"]
        else """
        SELECT 'clusters' AS stage, (SELECT count(DISTINCT record) FROM raw_baskets) AS input_rows,
            (SELECT count(*) FROM clusters) AS kept, 0::BIGINT AS set_aside"""
    )
    return connection.execute(
        f"""
        {source}
        UNION ALL
        SELECT 'anonymized_threads', (SELECT count(*) FROM clusters),
            (SELECT threads FROM row_counts),
            (SELECT any_value(withdrawals) FROM ({_total_row(k)}) HAVING count(*) = 1)"""
    ).df()


def _total_row(k: int) -> str:
    """SELECT the total row of the cost report for this k."""
    return f"SELECT * FROM cost_report WHERE round = '{TOTAL}' AND k = {int(k)}"


def edit_counts(connection: Connection, form: Format, k: int) -> "pd.DataFrame":
    """For each figure of the cost report: the least and the most that a recount allows.

    With `identity="exact"`, both are equal. Otherwise an item has several spellings, and a
    published keyword that the thread does not contain is an addition or a respelling: the reported
    respellings are the width of the interval. Additions minus deletions, threads, keywords and
    withdrawals are always exact.
    """
    create_release_tables(connection, form)
    keywords = KEYWORD_LIST[layout_of(form)]
    return connection.execute(
        f"""
        WITH counted AS (
            SELECT (SELECT count(*) FROM clusters) AS threads,
                (SELECT coalesce(sum(len(items)), 0) FROM clusters) AS keywords,
                (SELECT threads FROM row_counts) AS published,
                (SELECT coalesce(sum(typed * len({keywords})), 0) FROM groups) AS size,
                (SELECT coalesce(sum(retained), 0) FROM groups) AS retained),
        reported AS ({_total_row(k)}),
        compared AS (
            SELECT counted.*, reported.threads AS reported_threads,
                reported.keywords AS reported_keywords,
                additions, deletions, withdrawals, respellings
            FROM counted, reported)
        SELECT figure, least::BIGINT AS least, most::BIGINT AS most, reported::BIGINT AS reported
        FROM (
            SELECT 'threads' AS figure, threads AS least, threads AS most,
                reported_threads AS reported FROM compared
            UNION ALL SELECT 'keywords', keywords, keywords, reported_keywords FROM compared
            UNION ALL SELECT 'withdrawals', threads - published, threads - published,
                withdrawals FROM compared
            UNION ALL SELECT 'additions', greatest(size - retained - respellings, 0),
                size - retained, additions FROM compared
            UNION ALL SELECT 'deletions', greatest(keywords - retained - respellings, 0),
                keywords - retained, deletions FROM compared
            -- Published keywords without the additions are the keywords without the deletions.
            UNION ALL SELECT 'kept', size - additions, size - additions,
                keywords - deletions FROM compared)"""
    ).df()
