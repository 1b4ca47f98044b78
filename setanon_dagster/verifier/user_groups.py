"""Published sets, and lists of queries, with the number of threads and of users that have each.

Definition 1: at least k users share every published set. The format "queries" promises more: at
least k users share every published list of queries, which determines the set.
"""
# ruff: noqa: S608 - statements are built from constants and from SQL of this package

from collections.abc import Iterable, Mapping
from typing import Final

from setanon_dagster.verifier.sql import Connection, execute, query_rows

LEDGER_FAULTS: Final = {
    "unknown": "count(*) FILTER (unknown)",
    "absent": "count(*) FILTER (absent)",
}
"""Threads without ledger entry, and entries without thread; see `ledger_entries`."""


def users_per_set(members: str, sums: Mapping[str, str]) -> str:
    """SELECT keywords, threads, users and further sums, from members (keywords, user, ...)."""
    inner = "".join(f", {aggregate} AS {name}" for name, aggregate in sums.items())
    pairs = f"""SELECT keywords, "user", count(*) AS threads{inner}
        FROM ({members}) GROUP BY "user", keywords"""
    return _sum_of_users("keywords", pairs, sums)


def _sum_of_users(key: str, pairs: str, sums: Iterable[str]) -> str:
    """SELECT a key with its threads, users and sums, from one row per key and user."""
    # Grouped by key and user, then by key: faster than count(DISTINCT), and DuckDB can spill it.
    outer = "".join(f", sum({name})::BIGINT AS {name}" for name in sums)
    return f"""SELECT {key}, sum(threads)::BIGINT AS threads, count("user") AS users{outer}
        FROM ({pairs}) GROUP BY {key}"""


def create_groups(
    connection: Connection,
    members: str,
    expression: str,
    sums: Mapping[str, str] | None = None,
) -> None:
    """Create the table `groups` of the sets and their users; for queries also the table `lists`.

    `members` is a SELECT of spelling and user per thread; `expression` gives the set of a spelling.
    """
    sums = sums or {}
    if expression == "spelling":
        with_sets = f"SELECT *, spelling AS keywords FROM ({members})"
        _create_table(connection, "groups", users_per_set(with_sets, sums))
        return
    inner = "".join(f", {aggregate} AS {name}" for name, aggregate in sums.items())
    _create_table(
        connection,
        "pairs",
        f"""SELECT spelling, "user", count(*) AS threads{inner}
            FROM ({members}) GROUP BY "user", spelling""",
    )
    lists = _sum_of_users("spelling", "FROM pairs", sums)
    _create_table(connection, "lists", f"SELECT *, {expression} AS keywords FROM ({lists})")
    names = ("threads", "users", *sums)
    total = "".join(f", sum({name}) AS {name}" for name in ("threads", *sums))
    # A set with one list has the users of the list. Users of the others are counted by number,
    # which is faster than by text.
    pairs_of_sets = f"""SELECT number, "user"{total}
        FROM pairs JOIN (SELECT spelling, number FROM lists JOIN several USING (keywords))
        USING (spelling) GROUP BY "user", number"""
    _create_table(
        connection,
        "groups",
        f"""WITH several AS MATERIALIZED (SELECT keywords, row_number() OVER () AS number
            FROM lists GROUP BY keywords HAVING count(*) > 1)
        SELECT keywords, {", ".join(names)} FROM lists ANTI JOIN several USING (keywords)
        UNION ALL SELECT keywords, {", ".join(names)}
            FROM ({_sum_of_users("number", pairs_of_sets, sums)}) JOIN several USING (number)""",
    )
    execute(connection, "DROP TABLE pairs")


def create_groups_without_users(connection: Connection, threads: str, expression: str) -> None:
    """Create the tables `groups` and `lists` without a ledger: each thread counts as one user."""
    _create_table(
        connection,
        "lists",
        f"""SELECT spelling, count(*) AS threads, count(*) AS users
            FROM ({threads}) GROUP BY spelling""",
    )
    if expression == "spelling":
        counted = "SELECT * RENAME (spelling AS keywords) FROM lists"
    else:
        counted = f"""SELECT {expression} AS keywords, sum(threads)::BIGINT AS threads,
            sum(users)::BIGINT AS users FROM lists GROUP BY keywords"""
    _create_table(connection, "groups", f"SELECT *, 0 AS absent FROM ({counted})")


def group_sizes(connection: Connection, groups: str = "groups") -> tuple[tuple[int, int, int], ...]:
    """Count sets and threads by users per set; rows are (users, sets, threads).

    With the table `lists` in place of `groups`: lists of queries, and threads by users per list.
    """
    return tuple(
        query_rows(
            connection,
            f"""SELECT users::BIGINT, count(*), sum(threads)::BIGINT FROM {groups}
                GROUP BY users ORDER BY users""",
        )
    )


def _create_table(connection: Connection, name: str, select: str) -> None:
    execute(connection, f"CREATE OR REPLACE TEMP TABLE {name} AS {select}")
