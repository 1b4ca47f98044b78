"""The ledger (thread_id, thread, user) compared with the published file and with the source.

A ledger with wrong users could make one user look like k: k users in the ledger may be fewer users
in the source.
"""
# ruff: noqa: S608 - statements are built from constants, integers and SQL of this package

from pathlib import Path
from typing import Final

from setanon_dagster.verifier.release_format import SET_IF_SORTED
from setanon_dagster.verifier.sql import (
    Connection,
    create_view,
    execute,
    open_connection,
    query_counts,
)
from setanon_dagster.verifier.user_groups import LEDGER_FAULTS, create_groups

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


def group_by_ledger(
    connection: Connection, form: str, threads: str, published: int | None
) -> tuple[dict[str, int], str]:
    """Create the table `groups` with the users of the ledger.

    `threads` is a SELECT of thread_id and spelling from the view `file`. `published` is the number
    of threads if the rows of the file are sorted and without faults, otherwise None. Return the
    faults of the ledger, and the SELECT of the grouped members.
    """
    if published is not None:
        # Ids of such a file ascend, and so do those of a ledger that was written with sets.
        spelling, both = (
            ("keywords AS spelling", "file POSITIONAL JOIN ledger")
            if form == "sets"
            else ("spelling", f"({threads}) AS file LEFT JOIN ledger USING (thread_id)")
        )
        members = f"""SELECT {spelling}, "user", false AS absent,
            (file.thread_id = ledger.thread_id) IS NOT TRUE AS unknown FROM {both}"""
        create_groups(connection, members, SET_IF_SORTED[form], LEDGER_FAULTS)
        if _matches_exactly(connection, published):
            without_user = 'SELECT count(*) AS null_entries FROM ledger WHERE "user" IS NULL'
            return query_counts(connection, without_user), members
    execute(
        connection,
        """CREATE TEMP TABLE entries AS SELECT thread_id, min("user") AS "user", count(*) AS rows,
            count(*) FILTER (thread_id IS NULL OR "user" IS NULL) AS nulls
            FROM ledger GROUP BY thread_id""",
    )
    # Entries without a published thread have no spelling; threads without one are not published.
    members = f"""SELECT spelling, "user", rows IS NULL AS unknown,
        published.thread_id IS NULL AS absent
        FROM (FROM ({threads}) WHERE spelling IS NOT NULL) AS published
        FULL JOIN (FROM entries WHERE thread_id IS NOT NULL) AS entries
        ON published.thread_id = entries.thread_id
        UNION ALL SELECT NULL, NULL, true, false FROM ({threads}) WHERE spelling IS NULL"""
    create_groups(connection, members, SET_IF_SORTED[form], LEDGER_FAULTS)
    faults = query_counts(
        connection,
        """SELECT count(*) FILTER (rows > 1) AS repeated_entries,
            coalesce(sum(nulls), 0) AS null_entries FROM entries""",
    )
    return faults, members


def _matches_exactly(connection: Connection, published: int) -> bool:
    """Whether the ledger has one entry for each published thread, and no other entry.

    If each of the threads matched once, and the ledger has as many entries, it has no others.
    """
    counts = query_counts(
        connection,
        """SELECT coalesce(sum(unknown), 0) AS unknown, coalesce(sum(threads), 0) AS threads,
            (SELECT count(*) FROM ledger) AS entries FROM groups""",
    )
    return not counts["unknown"] and counts["threads"] == published == counts["entries"]
