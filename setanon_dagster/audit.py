"""What the checks must know of the assets, counted in SQL: small tables of numbers, never data.

Each function takes the Parquet files of assets by the names of their stages, and shares no code
with the stages that wrote them. A file that lacks a column is refused by DuckDB's binder.
"""

# ruff: noqa: S608 - what is put into a query is a constant of this module, or an integer

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb

from setanon_core.params import check_choice
from setanon_core.release import FORMATS, Format
from setanon_dagster.parquet import connect, read_parquet

if TYPE_CHECKING:
    import pandas as pd

Files = Mapping[str, Path]
"""The Parquet file of each stage that is looked at."""

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

SETS: Final[Mapping[str, str]] = {
    # A query is split at every blank: one too many is a keyword that nobody typed.
    "queries": """
        SELECT thread_id, list_sort(list_distinct(string_split(
            string_agg(coalesce(query, ''), ' '), ' '))) AS keywords
        FROM anonymized_threads GROUP BY thread_id""",
    "sets": "SELECT thread_id, list_sort(list_distinct(keywords)) AS keywords "
    "FROM anonymized_threads",
}
"""The keyword set of every published thread."""

ENTRY: Final = {"queries": "(thread_id, position)", "sets": "thread_id"}
"""What tells one row of a release from all others."""

ODD: Final = {
    "queries": """position IS NULL OR query IS NULL OR query = '' OR query LIKE ' %'
        OR query LIKE '% ' OR query LIKE '%  %'""",
    "sets": "keywords IS NULL OR keywords IS DISTINCT FROM list_sort(list_distinct(keywords))",
}
"""Rows that a reader could not split into keywords, or not into the same ones."""

PROMISES: Final[Mapping[str, str]] = {
    "every_set_has_k_users": "Every published set of keywords is that of at least $k users.",
    "every_keyword_has_owners": "At least $min_owners users typed each published keyword.",
    "thread_ids_are_unique": "Every thread id is a keyed hash, published once, with one user.",
    "no_user_or_time_column": "The columns are those of the format $format: no user, no time.",
    "every_row_is_accounted_for": "What came into a stage was kept or set aside, to the last row.",
    "edits_match_the_cost_report": "A recount of the edits finds what the cost report says.",
}
"""What a release promises, in a sentence each; the same in Dagster and in Data Docs."""

TOTAL: Final = "SELECT * FROM cost_report WHERE round = 'total'"


def users_per_set(files: Files, kind: Format) -> "pd.DataFrame":
    """How many sets, of how many threads, have so many users; one row of zeros for no release."""
    return _table(
        files,
        f"""
        WITH sets AS ({_of(SETS, kind)}),
        shared AS (
            SELECT count(DISTINCT user) AS users, count(*) AS threads
            FROM sets LEFT JOIN ledger USING (thread_id) GROUP BY keywords)
        SELECT users, count(*) AS sets, sum(threads)::BIGINT AS threads
        FROM shared GROUP BY users
        UNION ALL SELECT 0, 0, 0 WHERE NOT EXISTS (FROM anonymized_threads)
        ORDER BY users""",
    )


def owners_per_keyword(files: Files, kind: Format) -> "pd.DataFrame":
    """How many published keywords so many users typed; one row of zeros for no release."""
    return _table(
        files,
        f"""
        WITH published AS (SELECT DISTINCT unnest(keywords) AS keyword FROM ({_of(SETS, kind)})),
        typed AS (SELECT DISTINCT user, unnest(words) AS keyword FROM clusters),
        held AS (
            SELECT count(user) AS owners
            FROM published LEFT JOIN typed USING (keyword) GROUP BY keyword)
        SELECT owners, count(*) AS keywords FROM held GROUP BY owners
        UNION ALL SELECT 0, 0 WHERE NOT EXISTS (FROM anonymized_threads)
        ORDER BY owners""",
    )


def identifiers(files: Files, kind: Format) -> "pd.DataFrame":
    """Rows and thread ids, and those that are repeated, malformed or not the ledger's.

    The ledger is compared with the clusters too: whoever names the wrong users could make a set
    look like that of many.
    """
    return _table(
        files,
        f"""
        WITH ids AS (
            SELECT thread_id, count(DISTINCT "group") AS groups
            FROM anonymized_threads GROUP BY thread_id)
        SELECT
            (SELECT count(*) FROM anonymized_threads) AS rows,
            (SELECT count(DISTINCT {_of(ENTRY, kind)}) FROM anonymized_threads) AS distinct_rows,
            (SELECT count(*) FROM ledger) AS ids,
            (SELECT least(count(DISTINCT thread_id), count(DISTINCT thread)) FROM ledger)
                AS distinct_ids,
            (SELECT count(*) FROM ids
                WHERE NOT coalesce(regexp_full_match(thread_id, '[0-9a-f]{{32}}'), false)
                OR groups <> 1)
                + (SELECT count(*) FROM anonymized_threads WHERE {_of(ODD, kind)}) AS malformed,
            (SELECT count(*) FROM ids FULL JOIN ledger USING (thread_id)
                WHERE ids.groups IS NULL OR ledger.thread IS NULL)
                + (SELECT count(*) FROM ledger LEFT JOIN clusters USING (thread)
                WHERE ledger.user IS NULL OR ledger.user IS DISTINCT FROM clusters.user)
                AS unmatched""",
    )


def published_columns(files: Files) -> "pd.DataFrame":
    """Name and type of every column that would be published."""
    return _table(
        files,
        "SELECT column_name AS name, column_type AS type FROM (DESCRIBE anonymized_threads)",
    )


def rows_accounted_for(files: Files, k: int) -> "pd.DataFrame":
    """For each stage, what came into it, what it kept and what it set aside."""
    source = (
        """
        SELECT 'threads' AS stage, (SELECT count(*) FROM raw_log) AS came,
            (SELECT count(*) FROM threads) AS kept, 0::BIGINT AS set_aside
        UNION ALL
        SELECT 'clusters', (SELECT count(DISTINCT thread) FROM threads),
            (SELECT count(*) FROM clusters), 0"""
        if "threads" in files
        else """
        SELECT 'clusters' AS stage, (SELECT count(DISTINCT record) FROM raw_baskets) AS came,
            (SELECT count(*) FROM clusters) AS kept, 0::BIGINT AS set_aside"""
    )
    return _table(
        files,
        f"""
        {source}
        UNION ALL
        SELECT 'anonymized_threads', (SELECT count(*) FROM clusters),
            (SELECT count(DISTINCT thread_id) FROM anonymized_threads),
            (SELECT any_value(withdrawals) FROM ({TOTAL} AND k = {int(k)}) HAVING count(*) = 1)""",
    )


def edits(files: Files, kind: Format, k: int) -> "pd.DataFrame":
    """For each figure of the cost report, the least and the most that the data allow.

    With `identity="exact"` both are the same. Otherwise an item has several spellings, and a
    keyword of the release that the thread does not hold is either an addition or a respelling:
    the report's respellings are the width of the interval. Additions less deletions, threads,
    keywords and withdrawals are exact always.
    """
    return _table(
        files,
        f"""
        WITH sets AS ({_of(SETS, kind)}),
        found AS (
            SELECT len(sets.keywords) AS size,
                len(list_intersect(sets.keywords, list_distinct(clusters.words))) AS held
            FROM sets JOIN ledger USING (thread_id) JOIN clusters USING (thread)),
        counted AS (
            SELECT (SELECT count(*) FROM clusters) AS threads,
                (SELECT coalesce(sum(len(items)), 0) FROM clusters) AS keywords,
                (SELECT count(DISTINCT thread_id) FROM sets) AS published,
                (SELECT coalesce(sum(size), 0) FROM found) AS size,
                (SELECT coalesce(sum(held), 0) FROM found) AS held),
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
                keywords - deletions FROM pair)""",
    )


def _of(choices: Mapping[str, str], kind: str) -> str:
    check_choice("format", kind, FORMATS)
    return choices[kind]


def _table(files: Files, query: str) -> "pd.DataFrame":
    with _opened(files) as connection:
        return connection.execute(query).df()


def counted(files: Files, query: str) -> dict[str, int]:
    """The one row of a query as counts by name; each file is a table named for its stage."""
    with _opened(files) as connection:
        found = connection.execute(query)
        names = [column[0] for column in found.description or ()]
        return dict(zip(names, found.fetchone() or (), strict=True))


@contextmanager
def _opened(files: Files) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with a view of each file."""
    # What does not fit into memory is private data: it must not spill into the working directory.
    with TemporaryDirectory(prefix="setanon-") as spill, connect(temp_folder=spill) as connection:
        connection.execute("SET enable_progress_bar = false")
        for stage, path in files.items():
            read_parquet(path, connection, stage).create_view(stage)
        yield connection
