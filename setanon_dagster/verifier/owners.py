"""A release held against what its users typed: whose a thread is, and how many typed a keyword.

Shares no code with what made the release; answers in counts.
"""
# ruff: noqa: S608 - what is put into a statement is a constant of this module, or an integer

from pathlib import Path
from typing import Final

from setanon_dagster.verifier.sql import Connection, create_view, open_connection, query_counts

PROBE: Final = 100_000
"""Rows of the words that users typed which settle most keywords: the common ones."""


def wrong_ledger_entries(
    ledger: Path,
    clusters: Path,
    *,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> int:
    """Count the entries of a ledger (thread, user) whose thread is not that user's, or repeated.

    A ledger that names wrong users would make a crowd of one: k users by the ledger may be fewer
    by the log. `clusters` has the user of every thread.
    """
    with open_connection(cores, memory, spill) as connection:
        create_view(connection, "ledger", ledger)
        create_view(connection, "threads", clusters)
        # What is told truly is found from the threads, each of which is met once if they ascend.
        found = query_counts(
            connection,
            """SELECT (SELECT count(*) FROM ledger) - count(*) AS false,
                    (SELECT count(*) FROM (SELECT thread, lag(thread) OVER () AS above FROM threads)
                    WHERE thread IS NULL OR thread <= above) AS disorder
                FROM threads SEMI JOIN ledger
                    ON threads."user" = ledger."user" AND threads.thread = ledger.thread""",
        )
        if not any(found.values()):
            return 0
        return query_counts(
            connection,
            """SELECT count(*) FILTER (threads."user" IS DISTINCT FROM ledger."user")
                + count(*) - count(DISTINCT ledger.thread) AS false
                FROM ledger LEFT JOIN threads USING (thread)""",
        )["false"]


def rare_keywords(connection: Connection, words: str, owners: int) -> dict[str, int]:
    """Count the published keywords that too few users typed, or nobody at all."""
    # Whoever typed a word in some of the rows typed it: what these settle is settled.
    settled = f"""SELECT word FROM (
        SELECT DISTINCT "user", unnest(words) AS word FROM (FROM vocabularies LIMIT {PROBE}))
        GROUP BY word HAVING count("user") >= {owners}"""
    published = f"SELECT DISTINCT unnest({words}) AS word FROM groups"
    return query_counts(
        connection,
        f"""WITH doubtful AS MATERIALIZED (
            FROM ({published}) ANTI JOIN ({settled}) USING (word))
        SELECT count(*) FILTER (users < {owners}) AS rare_keywords FROM (
            SELECT word, count(DISTINCT "user") AS users FROM doubtful LEFT JOIN
                (SELECT "user", unnest(words) AS word FROM vocabularies) USING (word)
            GROUP BY word)""",
    )
