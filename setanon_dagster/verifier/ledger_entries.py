"""The ledger (thread_id, thread, user) compared with the published file and with the source.

A ledger with wrong users could make one user look like k: k users in the ledger may be fewer users
in the source.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of this package

from pathlib import Path
from typing import Final

from setanon_dagster.verifier.sql import (
    Connection,
    create_view,
    execute,
    open_connection,
    query_counts,
)

UNSORTED_CLUSTERS: Final = """SELECT count(*) AS unsorted FROM
    (SELECT thread, lag(thread) OVER () AS previous FROM clusters)
    WHERE thread IS NULL OR thread <= previous"""
"""Rows of `clusters` whose thread is null or not greater than that of the row before."""

# As text: DuckDB compares text with numbers as numbers, so that '1' and '01' would both be 1.
SAME_USER: Final = 'clusters."user"::VARCHAR = ledger."user"::VARCHAR'
"""SQL condition: an entry of the ledger has the user of its cluster."""


def wrong_ledger_entries(
    ledger: Path,
    clusters: Path,
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> int:
    """Count the entries of a ledger file with a wrong user, or with a repeated or no thread.

    `clusters` has the user of each thread.
    """
    with open_connection(cores, memory, spill) as connection:
        create_view(connection, "ledger", ledger)
        create_view(connection, "clusters", clusters)
        return sum(count_wrong_entries(connection).values())


def count_wrong_entries(connection: Connection) -> dict[str, int]:
    """Count the entries of `ledger` whose user differs from that of the thread in `clusters`.

    Return `wrong_users` and `repeated_threads`; the latter includes entries without a thread.
    """
    # Fast path: if clusters ascend by thread, each correct entry matches exactly one of them.
    fast = query_counts(
        connection,
        f"""SELECT (SELECT count(*) FROM ledger) - count(*) AS unmatched,
                ({UNSORTED_CLUSTERS}) AS unsorted
            FROM clusters SEMI JOIN ledger
                ON {SAME_USER} AND clusters.thread = ledger.thread""",
    )
    if not any(fast.values()):
        return {"wrong_users": 0, "repeated_threads": 0}
    return query_counts(
        connection,
        f"""SELECT count(*) FILTER (ledger.thread IS NOT NULL
                AND ({SAME_USER}) IS NOT TRUE) AS wrong_users,
            count(*) - count(DISTINCT ledger.thread) AS repeated_threads
            FROM ledger LEFT JOIN clusters USING (thread)""",
    )


def entries_of_members(connection: Connection) -> tuple[dict[str, int], str]:
    """The faults of a ledger that matches the table `members`, and a SELECT as `match_entries`."""
    faults = query_counts(
        connection, 'SELECT count(*) AS null_entries FROM members WHERE "user" IS NULL'
    )
    return faults, "SELECT *, false AS unknown, false AS absent FROM members"


def match_entries(connection: Connection, threads: str) -> tuple[dict[str, int], str]:
    """The faults of the ledger, and a SELECT of its entries and of the published threads.

    `threads` is a SELECT of thread_id and spelling. The result has spelling and user; `unknown`
    for threads without an entry, and `absent` for entries without a thread.
    """
    execute(
        connection,
        """CREATE TEMP TABLE entries AS SELECT thread_id, min("user") AS "user", count(*) AS rows,
            count(*) FILTER (thread_id IS NULL OR "user" IS NULL) AS nulls
            FROM ledger GROUP BY thread_id""",
    )
    faults = query_counts(
        connection,
        """SELECT count(*) FILTER (rows > 1) AS repeated_entries,
            coalesce(sum(nulls), 0) AS null_entries FROM entries""",
    )
    # Entries without a published thread have no spelling; threads without one are not published.
    return (
        faults,
        f"""SELECT spelling, "user", rows IS NULL AS unknown,
        published.thread_id IS NULL AS absent
        FROM (FROM ({threads}) WHERE spelling IS NOT NULL) AS published
        FULL JOIN (FROM entries WHERE thread_id IS NOT NULL) AS entries
        ON published.thread_id = entries.thread_id
        UNION ALL SELECT NULL, NULL, true, false FROM ({threads}) WHERE spelling IS NULL""",
    )
