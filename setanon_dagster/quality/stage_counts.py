"""What is counted of the stages before a release: rows lost or doubled, and what is at odds.

A table that comes in its order is counted as it streams by. Where it does not, or where something
is wrong, the same is counted by hash tables, which need memory in proportion to it.
"""

from collections.abc import Mapping
from typing import Final

from setanon_dagster.quality.gathering import Connection, counted

LINES_IN_ORDER: Final = """
    SELECT count(*) AS rows, count(*) FILTER (line IS DISTINCT FROM above) AS accepted,
        count(*) FILTER ((line IS NOT NULL AND (above IS NULL OR line {after} above)) IS NOT TRUE)
            AS disorder
    FROM (SELECT line, lag(line) OVER () AS above FROM {raw})"""

LINES: Final = """
    SELECT count(*) AS rows, count(DISTINCT line) AS accepted,
        count(*) - count({once} line) AS disorder FROM {raw}"""

REJECTED: Final = """
    SELECT count(DISTINCT line) AS rejected,
        count(*) - count(DISTINCT line) + count(*) FILTER (line IN (
            SELECT line FROM {raw} WHERE line IN (SELECT line FROM rejected_rows))) AS doubtful
    FROM rejected_rows"""

THREADS_IN_ORDER: Final = """
    SELECT count(*) AS rows, count(*) FILTER (thread IS DISTINCT FROM above) AS threads,
        count(*) FILTER ((thread IS NOT NULL AND user IS NOT NULL AND position IS NOT NULL
            AND CASE WHEN thread = above THEN user = user_above AND position > place_above
            ELSE above IS NULL OR thread > above END) IS NOT TRUE) AS disorder
    FROM (SELECT *, lag(thread) OVER () AS above, lag(user) OVER () AS user_above,
        lag(position) OVER () AS place_above FROM threads)"""

OTHER_ROWS: Final = """
    SELECT sums.n <> due.n OR sums.entries <> due.entries AS other_rows
    FROM (SELECT count(*) AS n, coalesce(sum(hash(user, time, query)::HUGEINT), 0) AS entries
        FROM threads) AS sums,
    (SELECT count(*) AS n, coalesce(sum(hash(user, time, query)::HUGEINT), 0) AS entries
        FROM raw_log) AS due"""
"""Asked by itself: rows are looked at in their order by one core, and in any order by all."""

THREADS: Final = """
    WITH balance AS (
        SELECT sum(n) AS n FROM (
            SELECT hash(user, time, query) AS entry, 1 AS n FROM raw_log
            UNION ALL SELECT hash(user, time, query), -1 FROM threads) GROUP BY entry),
    own AS (
        SELECT min(user) IS DISTINCT FROM max(user) OR count(user) < count(*) AS mixed,
            count(*) <> count(DISTINCT position) AS repeated
        FROM threads GROUP BY thread)
    SELECT (SELECT count(*) FROM threads) AS rows, (SELECT count(*) FROM own) AS threads,
        (SELECT coalesce(sum(n) FILTER (n > 0), 0)::BIGINT FROM balance) AS lost_rows,
        (SELECT coalesce(-sum(n) FILTER (n < 0), 0)::BIGINT FROM balance) AS added_rows,
        (SELECT count(*) FILTER (mixed) FROM own) AS mixed_threads,
        (SELECT count(*) FILTER (repeated) FROM own) AS repeated_positions"""
"""Rows of the log that no thread has, rows of threads that the log lacks, mixed threads."""

CLUSTERS: Final = """
    WITH sizes AS (SELECT count(*) AS n FROM clusters GROUP BY keys[1])
    SELECT count(*) AS threads, (SELECT count(*) FROM sizes) AS clusters,
        (SELECT coalesce(max(n), 0) FROM sizes) AS largest_cluster,
        count(*) - count(user) AS unnamed,
        count(*) FILTER (coalesce(len(keys), 0) = 0
            OR len(keys) <> (SELECT max(len(keys)) FROM clusters)) AS without_keys,
        -- What the items are among is counted only where they are not the words themselves.
        count(*) FILTER (words IS NULL OR items IS NULL
            OR coalesce(list_sum(lengths), 0) IS DISTINCT FROM len(words)
            OR len(items) <> list_unique(items)
            OR CASE WHEN len(list_filter(items, lambda item: list_contains(words, item)))
                = len(items) THEN false ELSE len(items) > list_unique(words) END
            OR (len(items) = 0) <> (len(words) = 0)) AS odd_sizes
    FROM clusters"""
"""Threads, clusters of the first round, and threads whose columns contradict each other."""

CLUSTERS_IN_ORDER: Final = """
    SELECT count(*) FILTER ((thread > above) IS FALSE OR thread IS NULL) AS disorder
    FROM (SELECT thread, lag(thread) OVER () AS above FROM clusters)"""

REPEATED: Final = "SELECT count(*) - count(DISTINCT thread) AS repeated FROM clusters"

Sentences = Mapping[str, tuple[str, tuple[str, ...]]]
"""For each check of a stage its sentence, and the counts that must be zero."""

OF_LINES: Final[Sentences] = {
    "every_line_is_accounted_for": (
        "Every line that was read was accepted, rejected or outside the partition, once.",
        ("doubtful", "unexplained"),
    ),
    "some_rows_are_usable": ("The source has rows that can be used.", ("empty",)),
}
OF_THREADS: Final[Sentences] = {
    "every_row_is_in_one_thread": (
        "Every row of the log is in exactly one thread, and no other row is.",
        ("lost_rows", "added_rows", "repeated_positions"),
    ),
    "no_thread_mixes_users": ("All queries of a thread are one user's.", ("mixed_threads",)),
}
OF_CLUSTERS: Final[Sentences] = {
    "every_thread_has_keys": (
        "Every thread has a user, and a cluster in each round.",
        ("unnamed", "without_keys"),
    ),
    "keywords_and_items_agree": (
        "A thread has the keywords of its queries, and items for all of them.",
        ("odd_sizes",),
    ),
}


def count_lines(connection: Connection, raw: str) -> dict[str, int]:
    """Lines that were accepted or rejected, and how many were so twice or have no number."""
    # A line is one query; a basket may stand on one line or on many.
    after, once = (">", "DISTINCT") if raw == "raw_log" else (">=", "")
    counts = counted(connection, LINES_IN_ORDER.format(raw=raw, after=after))
    if counts["disorder"]:
        counts = counted(connection, LINES.format(raw=raw, once=once))
    counts |= counted(connection, REJECTED.format(raw=raw))
    counts["doubtful"] += counts.pop("disorder")
    return counts | {"empty": int(not counts["rows"])}


def count_threads(connection: Connection) -> dict[str, int]:
    """Rows that only the log or only the threads have, and threads that are not as they must be."""
    counts = counted(connection, THREADS_IN_ORDER)
    if counts.pop("disorder") or counted(connection, OTHER_ROWS)["other_rows"]:
        return counted(connection, THREADS)
    faults = ("lost_rows", "added_rows", "mixed_threads", "repeated_positions")
    return counts | dict.fromkeys(faults, 0)


def count_clusters(connection: Connection) -> dict[str, int]:
    """Threads and clusters, and threads whose columns contradict each other."""
    counts = counted(connection, CLUSTERS)
    if counted(connection, CLUSTERS_IN_ORDER)["disorder"]:
        counts["unnamed"] += counted(connection, REPEATED)["repeated"]
    return counts
