"""Counts of a release for its report, computed by DuckDB from the stage files; returns no rows.

The rules for sets, users and owners are the verifier's.
Complexity: one pass over the keywords of all threads, and one over the published rows.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of the verifier

from typing import Any

from duckdb import DuckDBPyConnection

from setanon_dagster.quality.release_tables import STAGE_ROWS
from setanon_dagster.report.model import GroupSize, Losses, RoundCost
from setanon_dagster.stages.cost_report import TOTAL
from setanon_dagster.verifier import user_groups
from setanon_dagster.verifier.keyword_owners import rare_values_per_thread
from setanon_dagster.verifier.release_format import (
    SET_OF_SPELLING,
    layout_of,
    thread_spellings,
)


def group_sizes(connection: DuckDBPyConnection, form: str) -> tuple[GroupSize, ...]:
    """Number of groups and threads by users per group; `form` is the format of the release."""
    layout = layout_of(form)
    threads = thread_spellings(layout, STAGE_ROWS)
    members = f"""SELECT spelling, "user" FROM ({threads}) AS published
        LEFT JOIN ledger ON ledger.thread = published.thread_id"""
    user_groups.create_groups(connection, members, SET_OF_SPELLING[layout])
    return tuple(GroupSize(*size) for size in user_groups.group_sizes(connection))


def losses(
    connection: DuckDBPyConnection, min_owners: int, additions: int, deletions: int
) -> Losses:
    """Deletions by cause: rare keywords, withdrawn threads, or differences within a group.

    `additions` and `deletions` are those of the cost report. The owners of an item are the users
    of any of its spellings. Deletions that are neither rare nor withdrawn were made in a group.
    """
    rows = connection.execute(
        f"""
        WITH rare AS MATERIALIZED ({rare_values_per_thread("clusters", "items", int(min_owners))}),
        withdrawn AS (SELECT len(items) AS size, coalesce(n, 0) AS rare
            FROM clusters ANTI JOIN ledger USING (thread) LEFT JOIN rare USING (thread))
        SELECT (SELECT coalesce(sum(n), 0) FROM rare) - coalesce(sum(rare), 0) AS rare_published,
            coalesce(sum(rare), 0) AS rare_withdrawn,
            coalesce(sum(size - rare), 0) AS other_withdrawn,
            count(*) FILTER (rare >= size) AS threads_all_rare,
            count(*) FILTER (rare < size) AS threads_too_costly
        FROM withdrawn"""
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
