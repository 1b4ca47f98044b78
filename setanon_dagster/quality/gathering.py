"""Assets as tables of one connection, and what several checks need of them, gathered once."""

# ruff: noqa: S608 - what is put into a query is a constant of this module

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from setanon_core.params import FORMATS, Format
from setanon_core.ranges import check_choice
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet

Connection = duckdb.DuckDBPyConnection

Files = Mapping[str, Path]
"""The Parquet file of each stage that is looked at."""

SPELLED: Final[Mapping[str, str]] = {
    # A query that a thread repeats says nothing new: it is left out before texts get long.
    "queries": """
        SELECT thread_id, string_agg(query, ' ') AS spelled,
            min("group") IS NULL OR min("group") <> max("group") AS mixed
        FROM (SELECT DISTINCT thread_id, "group", coalesce(query, '') AS query
            FROM anonymized_threads) GROUP BY thread_id""",
    "sets": """
        SELECT thread_id, keywords AS spelled, "group" IS NULL AS mixed FROM anonymized_threads""",
}
"""What every published thread says, in whatever order."""

SETS: Final[Mapping[str, str]] = {
    # A query is split at every blank: one too many is a keyword that nobody typed. As text, which
    # is quicker to compare: no keyword of a query has a blank, so no two sets are spelled alike.
    "queries": "array_to_string(list_sort(list_distinct(string_split(spelled, ' '))), ' ')",
    "sets": "list_sort(list_distinct(spelled))",
}
"""The keyword set of what is said."""

WORDS: Final = {"queries": "string_split(keywords, ' ')", "sets": "keywords"}
"""Those keywords as a list."""

ODD: Final = {
    "queries": "list_contains(string_split(spelled, ' '), '')",
    "sets": "spelled <> list_sort(list_distinct(spelled))",
}
"""What a reader could not split into keywords, or not into the same ones; nor can what is null."""

ENTRY: Final = {"queries": "(thread_id, position)", "sets": "thread_id"}
"""What tells one row of a release from all others."""


def known(connection: Connection, stage: str) -> bool:
    """Whether there is a file of this stage."""
    named = "SELECT 1 FROM duckdb_views() WHERE view_name = ?"
    return bool(connection.execute(named, [stage]).fetchall())


def number(connection: Connection, kind: Format) -> None:
    """Count rows, and threads: as they come if they come in order, and else as distinct ones."""
    check_choice("format", kind, FORMATS)
    place = "position" if kind == "queries" else "0"
    ordered = f"""
        SELECT count(*) AS rows, count(*) AS distinct_rows,
            count(*) FILTER (thread_id IS DISTINCT FROM above) AS threads,
            count(*) FILTER ((thread_id IS NOT NULL AND place IS NOT NULL
                AND CASE WHEN thread_id = above THEN place > place_above
                ELSE above IS NULL OR thread_id > above END) IS NOT TRUE) AS disorder
        FROM (SELECT *, lag(thread_id) OVER () AS above, lag(place) OVER () AS place_above
            FROM (SELECT thread_id, {place} AS place FROM anonymized_threads))"""
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS numbers AS {ordered}")
    [(disorder,)] = connection.execute("SELECT disorder FROM numbers").fetchall()
    if disorder:
        connection.execute(
            f"""CREATE OR REPLACE TEMP TABLE numbers AS SELECT count(*) AS rows,
            count(DISTINCT {ENTRY[kind]}) AS distinct_rows,
            count(DISTINCT thread_id) AS threads, 0 AS disorder FROM anonymized_threads"""
        )


def gather(connection: Connection, kind: Format) -> None:
    """Gather the published threads, and then their sets, unless that has been done."""
    number(connection, kind)
    connection.execute(
        f"""CREATE TEMP TABLE IF NOT EXISTS found AS SELECT thread, "user", spelled, mixed
            OR NOT coalesce(regexp_full_match(thread_id, '[0-9a-f]{{32}}'), false) AS malformed
        FROM ({SPELLED[kind]}) LEFT JOIN ledger USING (thread_id)"""
    )
    # Many threads say the same: words are sorted once for all of them. By set and user, then by
    # set: that spills, and counting distinct users would not.
    connection.execute(
        f"""CREATE TEMP TABLE IF NOT EXISTS gathered AS
        WITH spellings AS (SELECT spelled, {SETS[kind]} AS keywords, {ODD[kind]} AS odd
            FROM (SELECT DISTINCT spelled FROM found))
        SELECT keywords, count("user") AS users, sum(threads)::BIGINT AS threads,
            sum(typed)::BIGINT AS typed, sum(held)::BIGINT AS held,
            sum(malformed)::BIGINT AS malformed, sum(errs)::BIGINT AS errs
        FROM (
            SELECT keywords, found."user", count(*) AS threads, count(words) AS typed,
                sum(len(list_filter({WORDS[kind]}, lambda word: list_contains(words, word))))
                AS held,
                count(*) FILTER (malformed OR coalesce(odd, true)) AS malformed,
                -- The ledger must name whoever typed the thread.
                count(*) FILTER (thread IS NOT NULL AND (found."user" IS NULL
                    OR found."user" IS DISTINCT FROM clusters."user")) AS errs
            FROM found LEFT JOIN spellings USING (spelled) LEFT JOIN clusters USING (thread)
            GROUP BY keywords, found."user")
        GROUP BY keywords"""
    )


def counted(connection: Connection, query: str) -> dict[str, int]:
    """The one row of a query as counts by name."""
    found = connection.execute(query)
    names = [column[0] for column in found.description or ()]
    return dict(zip(names, found.fetchone() or (), strict=True))


@contextmanager
def opened(
    files: Files, memory: str | None = None, spill: Path | None = None
) -> Iterator[Connection]:
    """A database in memory with a view of each file; it spills into a folder made in `spill`."""
    # What does not fit into memory is private data: it must not spill into the working directory.
    if spill is not None:
        private_folder(spill)
    with (
        TemporaryDirectory(prefix="setanon-", dir=spill) as own,
        connect(memory, temp_folder=own) as connection,
    ):
        connection.execute("SET enable_progress_bar = false")
        for stage, path in files.items():
            read_parquet(path, connection, stage).create_view(stage)
        yield connection
