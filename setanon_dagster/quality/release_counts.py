"""What the checks must know of the assets, counted in SQL: small tables of numbers, never data.

Each function takes a connection to which the Parquet files of assets are known by the names of
their stages, and shares no code with the stages that wrote them. What several of them need is
gathered once. A file that lacks a column is refused by DuckDB's binder.
"""

# ruff: noqa: S608 - what is put into a query is a constant of this module, or an integer

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from setanon_core.params import Format
from setanon_dagster.quality.gathering import WORDS, Connection, gather, known, number

if TYPE_CHECKING:
    import pandas as pd

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "queries": {
        "thread_id": "VARCHAR",
        "group": "BIGINT",
        "position": "BIGINT",
        "query": "VARCHAR",
    },
    "sets": {"thread_id": "VARCHAR", "group": "BIGINT", "keywords": "VARCHAR[]"},
}
"""Everything that may be published, by format, with DuckDB's types: all else is one too many."""

PROMISES: Final[Mapping[str, str]] = {
    "every_set_has_k_users": "Every published set of keywords is that of at least $k users.",
    "every_keyword_has_owners": "At least $min_owners users typed each published keyword.",
    "thread_ids_are_unique": "Every thread id is a keyed hash, published once, with one user.",
    "no_user_or_time_column": "The columns are those of the format $format: no user, no time.",
    "every_row_is_accounted_for": "What came into a stage was kept or set aside, to the last row.",
    "edits_match_the_cost_report": "A recount of the edits finds what the cost report says.",
}
"""What a release promises, in a sentence each; the same in Dagster and in Data Docs."""

PROBE: Final = 100_000
"""Threads that settle most keywords: the common ones."""

TOTAL: Final = "SELECT * FROM cost_report WHERE round = 'total'"


def users_per_set(connection: Connection, kind: Format) -> "pd.DataFrame":
    """How many sets, of how many threads, have so many users; one row of zeros for no release."""
    gather(connection, kind)
    return connection.execute(
        """
        SELECT users, count(*) AS sets, sum(threads)::BIGINT AS threads
        FROM gathered GROUP BY users
        UNION ALL SELECT 0, 0, 0 WHERE NOT EXISTS (FROM anonymized_threads)
        ORDER BY users"""
    ).df()


def owners_per_keyword(connection: Connection, kind: Format, enough: int) -> "pd.DataFrame":
    """How many published keywords so many users typed, counted up to `enough` of them.

    One row of zeros for no release.
    """
    gather(connection, kind)
    enough = max(int(enough), 1)
    # Whoever typed a word in some of the threads typed it: what these settle is not counted on.
    return connection.execute(
        f"""
        WITH published AS (SELECT DISTINCT unnest({WORDS[kind]}) AS keyword FROM gathered),
        common AS (
            SELECT keyword FROM (
                SELECT DISTINCT "user", unnest(words) AS keyword FROM (FROM clusters LIMIT {PROBE}))
            GROUP BY keyword HAVING count("user") >= {enough}),
        doubtful AS MATERIALIZED (FROM published ANTI JOIN common USING (keyword)),
        held AS (
            SELECT least(count(DISTINCT "user"), {enough}) AS owners FROM doubtful LEFT JOIN
                (SELECT "user", unnest(words) AS keyword FROM clusters) USING (keyword)
            GROUP BY keyword
            UNION ALL SELECT {enough} FROM published SEMI JOIN common USING (keyword))
        SELECT owners, count(*) AS keywords FROM held GROUP BY owners
        UNION ALL SELECT 0, 0 WHERE NOT EXISTS (FROM anonymized_threads)
        ORDER BY owners"""
    ).df()


def identifiers(connection: Connection, kind: Format) -> "pd.DataFrame":
    """Rows and thread ids, and those that are repeated, malformed or not the ledger's.

    The ledger is compared with the clusters too: whoever names the wrong users could make a set
    look like that of many.
    """
    gather(connection, kind)
    place = "position IS NULL" if kind == "queries" else "false"
    return connection.execute(
        f"""
        SELECT
            (SELECT rows FROM numbers) AS rows,
            (SELECT distinct_rows FROM numbers) AS distinct_rows,
            (SELECT count(*) FROM ledger) AS ids,
            -- A thread that is found twice has two entries; what is not found is unmatched.
            (SELECT least(count(*) + (SELECT threads FROM numbers) - (SELECT count(*) FROM found),
                count(DISTINCT thread)) FROM ledger) AS distinct_ids,
            (SELECT coalesce(sum(malformed), 0)::BIGINT FROM gathered)
                + (SELECT count(*) FROM anonymized_threads WHERE {place}) AS malformed,
            -- Threads that the ledger lacks, entries that the release lacks, entries that err.
            (SELECT count(*) - count(thread) FROM found)
                + abs((SELECT count(*) FROM ledger) - (SELECT count(thread) FROM found))
                + (SELECT coalesce(sum(errs), 0)::BIGINT FROM gathered) AS unmatched"""
    ).df()


def published_columns(connection: Connection) -> "pd.DataFrame":
    """Name and type of every column that would be published."""
    return connection.execute(
        "SELECT column_name AS name, column_type AS type FROM (DESCRIBE anonymized_threads)"
    ).df()


def rows_accounted_for(connection: Connection, kind: Format, k: int) -> "pd.DataFrame":
    """For each stage, what came into it, what it kept and what it set aside."""
    number(connection, kind)
    source = (
        """
        SELECT 'threads' AS stage, (SELECT count(*) FROM raw_log) AS came,
            (SELECT count(*) FROM threads) AS kept, 0::BIGINT AS set_aside
        UNION ALL
        SELECT 'clusters', (SELECT count(DISTINCT thread) FROM threads),
            (SELECT count(*) FROM clusters), 0"""
        if known(connection, "threads")
        else """
        SELECT 'clusters' AS stage, (SELECT count(DISTINCT record) FROM raw_baskets) AS came,
            (SELECT count(*) FROM clusters) AS kept, 0::BIGINT AS set_aside"""
    )
    return connection.execute(
        f"""
        {source}
        UNION ALL
        SELECT 'anonymized_threads', (SELECT count(*) FROM clusters),
            (SELECT threads FROM numbers),
            (SELECT any_value(withdrawals) FROM ({TOTAL} AND k = {int(k)}) HAVING count(*) = 1)"""
    ).df()


def edits(connection: Connection, kind: Format, k: int) -> "pd.DataFrame":
    """For each figure of the cost report, the least and the most that the data allow.

    With `identity="exact"` both are the same. Otherwise an item has several spellings, and a
    keyword of the release that the thread does not hold is either an addition or a respelling:
    the report's respellings are the width of the interval. Additions less deletions, threads,
    keywords and withdrawals are exact always.
    """
    gather(connection, kind)
    return connection.execute(
        f"""
        WITH counted AS (
            SELECT (SELECT count(*) FROM clusters) AS threads,
                (SELECT coalesce(sum(len(items)), 0) FROM clusters) AS keywords,
                (SELECT threads FROM numbers) AS published,
                (SELECT coalesce(sum(typed * len({WORDS[kind]})), 0) FROM gathered) AS size,
                (SELECT coalesce(sum(held), 0) FROM gathered) AS held),
        reported AS (SELECT * FROM ({TOTAL} AND k = {int(k)})),
        pair AS (
            SELECT counted.*, reported.threads AS said_threads,
                reported.keywords AS said_keywords, additions, deletions, withdrawals, respellings
            FROM counted, reported)
        SELECT figure, least::BIGINT AS least, most::BIGINT AS most, reported::BIGINT AS reported
        FROM (
            SELECT 'threads' AS figure, threads AS least, threads AS most,
                said_threads AS reported FROM pair
            UNION ALL SELECT 'keywords', keywords, keywords, said_keywords FROM pair
            UNION ALL SELECT 'withdrawals', threads - published, threads - published,
                withdrawals FROM pair
            UNION ALL SELECT 'additions', greatest(size - held - respellings, 0), size - held,
                additions FROM pair
            UNION ALL SELECT 'deletions', greatest(keywords - held - respellings, 0),
                keywords - held, deletions FROM pair
            -- What the additions leave of the published keywords is what the deletions left.
            UNION ALL SELECT 'kept', size - additions, size - additions,
                keywords - deletions FROM pair)"""
    ).df()
