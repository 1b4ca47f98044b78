"""Counts of a release for its report, by DuckDB from the files of its stages; no row leaves it.

Complexity: one pass over the keywords of all threads, and one over the published rows.
"""
# ruff: noqa: S608 - what is put into a statement is an integer, or a constant

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
"""The row of a cost report that is no round."""


PROBE: Final = 100_000
"""Threads that settle most items: the common ones."""


@contextmanager
def opened(
    files: Mapping[str, Path],
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> Iterator[DuckDBPyConnection]:
    """A database in memory, with a view of each file by the name of its stage."""
    if spill is not None:
        private_folder(spill)
    with (
        TemporaryDirectory(prefix="setanon-", dir=spill) as own,
        connect(memory_limit=memory, cores=cores, temp_folder=own) as connection,
        redact_engine_errors("the stages of a release must have the columns of their kind"),
    ):
        for stage, path in files.items():
            read_parquet(path, connection, stage).create_view(stage)
        yield connection


def group_sizes(connection: DuckDBPyConnection, form: str) -> tuple[GroupSize, ...]:
    """How many groups, with how many threads, have so many users; `form` is the format."""
    # Every thread has a first query: the gate lets no other pass.
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
    """Where the deletions come from: rare keywords, withdrawn threads, or groups that must agree.

    The cost report has the additions and deletions. An item is held by the users of any of its
    spellings. What is neither rare nor withdrawn was deleted in a group: that is the rest.
    """
    rows = connection.execute(
        f"""
        WITH held AS (SELECT thread, "user", unnest(items) AS item FROM clusters),
        -- Whoever holds an item in some of the threads holds it: what these settle is common.
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
        SELECT (SELECT coalesce(sum(n), 0) FROM rare) - coalesce(sum(rare), 0) AS rare_kept,
            coalesce(sum(rare), 0) AS rare_withdrawn,
            coalesce(sum(size - rare), 0) AS other_withdrawn,
            count(*) FILTER (rare >= size) AS hopeless_threads,
            count(*) FILTER (rare < size) AS lonely_threads
        FROM gone"""
    )
    names = [column[0] for column in rows.description or ()]
    counts: dict[str, Any] = dict(zip(names, map(int, rows.fetchall()[0]), strict=True))
    known = counts["rare_kept"] + counts["rare_withdrawn"] + counts["other_withdrawn"]
    return Losses(**counts, in_groups=max(deletions - known, 0), added=additions)


def rounds(connection: DuckDBPyConnection, k: int, method: str | None) -> tuple[RoundCost, ...]:
    """What the cost report says of each round, in its order; without a method, of any."""
    rows = connection.execute(
        """
        SELECT round, additions, deletions, withdrawals FROM cost_report
        WHERE k = $k AND ($method IS NULL OR method = $method) AND round <> $total""",
        {"k": k, "method": method, "total": TOTAL},
    ).fetchall()
    return tuple(RoundCost(*row) for row in rows)
