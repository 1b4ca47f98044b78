"""Counts of a release for its report, computed by DuckDB from the stage files; returns no rows.

Complexity: one pass over the keywords of all threads, and one over the published rows.
"""
# ruff: noqa: S608 - only integers and constants are inserted into statements

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from duckdb import DuckDBPyConnection

from setanon_dagster.report.model import GroupSize, Losses, RoundCost
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet

TOTAL: Final = "total"
"""Name of the row of a cost report with the total; all other rows are rounds."""

PROBE: Final = 100_000
"""Threads sampled first: they are enough to prove that a common item has enough owners."""


@contextmanager
def open_stages(
    files: Mapping[str, Path],
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> Iterator[DuckDBPyConnection]:
    """In-memory database with a view of each file, named after its stage.

    `cores` and `memory` limit DuckDB, which spills into a private folder created in `spill`.
    """
    if spill is not None:
        private_folder(spill)
    with (
        TemporaryDirectory(prefix="setanon-", dir=spill) as temp_folder,
        connect(memory_limit=memory, cores=cores, temp_folder=temp_folder) as connection,
        redact_engine_errors("the stage files must have the columns of their stage"),
    ):
        for stage, path in files.items():
            read_parquet(path, connection, stage).create_view(stage)
        yield connection


def group_sizes(connection: DuckDBPyConnection, form: str) -> tuple[GroupSize, ...]:
    """Number of groups and threads by users per group; `form` is the format of the release."""
    # The gate verifies that every thread has a query at position 0: count one row per thread.
    one = "WHERE position = 0" if form == "queries" else ""
    rows = connection.execute(
        f"""
        WITH published AS (SELECT thread_id, "group" FROM anonymized_threads {one}),
        found AS (
            SELECT count("user") AS users, sum(threads) AS threads FROM (
                SELECT "group", "user", count(*) AS threads
                FROM published LEFT JOIN ledger USING (thread_id) GROUP BY "group", "user")
            GROUP BY "group")
        SELECT users, count(*), sum(threads)::BIGINT FROM found GROUP BY users ORDER BY users"""
    ).fetchall()
    return tuple(GroupSize(*row) for row in rows)


def losses(
    connection: DuckDBPyConnection, min_owners: int, additions: int, deletions: int
) -> Losses:
    """Deletions by cause: rare keywords, withdrawn threads, or differences within a group.

    `additions` and `deletions` are those of the cost report. The owners of an item are the users
    of any of its spellings. Deletions that are neither rare nor withdrawn were made in a group.
    """
    rows = connection.execute(
        f"""
        WITH held AS (SELECT thread, "user", unnest(items) AS item FROM clusters),
        -- Owners in a sample of the threads are owners: these items need no full count.
        common AS (
            SELECT item FROM (SELECT DISTINCT "user", unnest(items) AS item
                FROM (FROM clusters LIMIT {PROBE}))
            GROUP BY item HAVING count("user") >= {int(min_owners)}),
        doubtful AS MATERIALIZED (FROM held ANTI JOIN common USING (item)),
        owners AS (SELECT item FROM doubtful GROUP BY item
            HAVING count(DISTINCT "user") < {int(min_owners)}),
        rare AS MATERIALIZED (SELECT thread, count(*) AS n
            FROM doubtful SEMI JOIN owners USING (item) GROUP BY thread),
        gone AS (SELECT len(items) AS size, coalesce(n, 0) AS rare
            FROM clusters ANTI JOIN ledger USING (thread) LEFT JOIN rare USING (thread))
        SELECT (SELECT coalesce(sum(n), 0) FROM rare) - coalesce(sum(rare), 0) AS rare_published,
            coalesce(sum(rare), 0) AS rare_withdrawn,
            coalesce(sum(size - rare), 0) AS other_withdrawn,
            count(*) FILTER (rare >= size) AS threads_all_rare,
            count(*) FILTER (rare < size) AS threads_too_costly
        FROM gone"""
    )
    names = [column[0] for column in rows.description or ()]
    counts: dict[str, Any] = dict(zip(names, map(int, rows.fetchall()[0]), strict=True))
    counted = counts["rare_published"] + counts["rare_withdrawn"] + counts["other_withdrawn"]
    return Losses(**counts, in_groups=max(deletions - counted, 0), added=additions)


def rounds(connection: DuckDBPyConnection, k: int, method: str | None) -> tuple[RoundCost, ...]:
    """Rounds of the cost report for this k and method, in their order; None is any method."""
    rows = connection.execute(
        """
        SELECT round, additions, deletions, withdrawals FROM cost_report
        WHERE k = $k AND ($method IS NULL OR method = $method) AND round <> $total""",
        {"k": k, "method": method, "total": TOTAL},
    ).fetchall()
    return tuple(RoundCost(*row) for row in rows)
