"""Published sets with the number of threads and of distinct users that have each of them.

Definition 1: at least k users share every published set.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of this package

from collections.abc import Mapping
from typing import Final

from setanon_dagster.verifier.release_format import sets_of_spellings
from setanon_dagster.verifier.sql import Connection, execute, query_rows

LEDGER_FAULTS: Final = {
    "unknown": "count(*) FILTER (unknown)",
    "absent": "count(*) FILTER (absent)",
}
"""Threads without ledger entry, and entries without thread; see `ledger_entries`."""


def users_per_set(members: str, sums: Mapping[str, str]) -> str:
    """SELECT keywords, threads, users and further sums, from members (keywords, user, ...)."""
    # Grouped by set and user, then by set: faster than count(DISTINCT), and DuckDB can spill it.
    inner = "".join(f", {aggregate} AS {name}" for name, aggregate in sums.items())
    outer = "".join(f", sum({name})::BIGINT AS {name}" for name in sums)
    return f"""SELECT keywords, sum(threads)::BIGINT AS threads, count("user") AS users{outer}
        FROM (SELECT keywords, "user", count(*) AS threads{inner}
            FROM ({members}) GROUP BY keywords, "user") GROUP BY keywords"""


def create_groups(
    connection: Connection,
    members: str,
    expression: str,
    sums: Mapping[str, str] | None = None,
) -> None:
    """Create the table `groups` of the sets and their users.

    `members` is a SELECT of spelling and user per thread; `expression` gives the set of a spelling.
    """
    with_sets = f"SELECT *, spelling AS keywords FROM ({members})"
    if expression != "spelling":
        with_sets = f"""WITH members AS MATERIALIZED ({members}),
            sets AS ({sets_of_spellings("members", expression)})
            SELECT * FROM members LEFT JOIN sets USING (spelling)"""
    _create_table(connection, users_per_set(with_sets, sums or {}))


def create_groups_without_users(connection: Connection, threads: str, expression: str) -> None:
    """Create the table `groups` without a ledger: each thread counts as one user."""
    spellings = f"SELECT spelling, count(*) AS n FROM ({threads}) GROUP BY spelling"
    if expression == "spelling":
        counted = f"SELECT spelling AS keywords, n AS threads, n AS users FROM ({spellings})"
    else:
        counted = f"""SELECT {expression} AS keywords, sum(n) AS threads, sum(n) AS users
            FROM ({spellings}) GROUP BY keywords"""
    _create_table(connection, f"SELECT *, 0 AS absent FROM ({counted})")


def group_sizes(connection: Connection, groups: str = "groups") -> tuple[tuple[int, int, int], ...]:
    """Count sets and threads by users per set; rows are (users, sets, threads)."""
    return tuple(
        query_rows(
            connection,
            f"""SELECT users::BIGINT, count(*), sum(threads)::BIGINT FROM {groups}
                GROUP BY users ORDER BY users""",
        )
    )


def _create_table(connection: Connection, select: str) -> None:
    execute(connection, f"CREATE OR REPLACE TEMP TABLE groups AS {select}")
