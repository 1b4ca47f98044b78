"""Counts for the checks of the stages before a release: lost, repeated and contradictory rows.

Sorted tables are counted in one streaming pass. If a table is not sorted, or something is wrong,
hash tables are used instead; they need memory in proportion to the table.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from setanon_core.partition.plan import count_places
from setanon_dagster.verifier.ledger_entries import UNSORTED_CLUSTERS
from setanon_dagster.verifier.sql import Connection, query_counts

SORTED_LINES: Final = """
    SELECT count(*) AS rows, count(*) FILTER (line IS DISTINCT FROM previous) AS accepted,
        count(*) FILTER ((line IS NOT NULL
            AND (previous IS NULL OR line {comparison} previous)) IS NOT TRUE) AS unsorted
    FROM (SELECT line, lag(line) OVER () AS previous FROM {raw})"""

LINES: Final = """
    SELECT count(*) AS rows, count(DISTINCT line) AS accepted,
        count(*) - count({distinct} line) AS unsorted FROM {raw}"""

REJECTED: Final = """
    SELECT count(DISTINCT line) AS rejected,
        count(*) - count(DISTINCT line) + count(*) FILTER (line IN (
            SELECT line FROM {raw} WHERE line IN (SELECT line FROM rejected_rows))) AS doubtful
    FROM rejected_rows"""

SORTED_THREADS: Final = """
    SELECT count(*) AS rows, count(*) FILTER (thread IS DISTINCT FROM previous) AS threads,
        count(*) FILTER ((thread IS NOT NULL AND user IS NOT NULL AND position IS NOT NULL
            AND CASE WHEN thread = previous
                THEN user = previous_user AND position > previous_position
            ELSE previous IS NULL OR thread > previous END) IS NOT TRUE) AS unsorted
    FROM (SELECT *, lag(thread) OVER () AS previous, lag(user) OVER () AS previous_user,
        lag(position) OVER () AS previous_position FROM threads)"""

DIFFERENT_ROWS: Final = """
    SELECT sums.n <> due.n OR sums.entries <> due.entries AS different_rows
    FROM (SELECT count(*) AS n, coalesce(sum(hash(user, time, query)::HUGEINT), 0) AS entries
        FROM threads) AS sums,
    (SELECT count(*) AS n, coalesce(sum(hash(user, time, query)::HUGEINT), 0) AS entries
        FROM raw_log) AS due"""
"""Separate from the query for sorted rows, which runs on one core; this one runs on all."""

THREADS: Final = """
    WITH balance AS (
        SELECT sum(n) AS n FROM (
            SELECT hash(user, time, query) AS entry, 1 AS n FROM raw_log
            UNION ALL SELECT hash(user, time, query), -1 FROM threads) GROUP BY entry),
    per_thread AS (
        SELECT min(user) IS DISTINCT FROM max(user) OR count(user) < count(*) AS mixed,
            count(*) <> count(DISTINCT position) AS repeated
        FROM threads GROUP BY thread)
    SELECT (SELECT count(*) FROM threads) AS rows, (SELECT count(*) FROM per_thread) AS threads,
        (SELECT coalesce(sum(n) FILTER (n > 0), 0)::BIGINT FROM balance) AS lost_rows,
        (SELECT coalesce(-sum(n) FILTER (n < 0), 0)::BIGINT FROM balance) AS added_rows,
        (SELECT count(*) FILTER (mixed) FROM per_thread) AS mixed_threads,
        (SELECT count(*) FILTER (repeated) FROM per_thread) AS repeated_positions"""
"""Rows of the log without a thread, rows of threads that are not in the log, mixed threads."""

CLUSTERS: Final = """
    WITH sizes AS (SELECT count(*) AS n FROM clusters GROUP BY keys[1])
    SELECT count(*) AS threads, (SELECT count(*) FROM sizes) AS clusters,
        (SELECT coalesce(max(n), 0) FROM sizes) AS largest_cluster,
        count(*) - count(user) AS unnamed,
        count(*) FILTER (coalesce(len(keys), 0) = 0
            OR len(keys) <> (SELECT max(len(keys)) FROM clusters)) AS without_keys,
        -- Distinct words are counted only if the items are not among the words.
        count(*) FILTER (words IS NULL OR items IS NULL
            OR coalesce(list_sum(lengths), 0) IS DISTINCT FROM len(words)
            OR len(items) <> list_unique(items)
            OR CASE WHEN len(list_filter(items, lambda item: list_contains(words, item)))
                = len(items) THEN false ELSE len(items) > list_unique(words) END
            OR (len(items) = 0) <> (len(words) = 0)) AS odd_sizes,
        count(*) FILTER (coalesce(list_count(places), 0) = 0
            OR list_count(places) <> len(places)
            OR list_count(savings) IS DISTINCT FROM len(places) OR len(savings) <> len(places)
            OR list_min(savings) < 0
            -- A thread without a place is published unchanged: it has no other place.
            OR list_min(places) < CASE WHEN len(places) = 1 THEN -1 ELSE 0 END) AS misplaced,
        coalesce(max(list_max(places)), -1) AS last_place,
        count(*) FILTER (len(items) > 0) AS with_items
    FROM clusters"""
"""Threads, clusters of the first round, and threads with contradictory columns."""

BEYOND: Final = "SELECT count(*) AS n FROM clusters WHERE list_max(places) >= {places}"

REPEATED_THREADS: Final = "SELECT count(*) - count(DISTINCT thread) AS repeated FROM clusters"


class StageCheck(NamedTuple):
    """A check of a stage."""

    description: str
    zero_counts: tuple[str, ...] = ()
    """Names of the counts that must be 0."""


LINE_CHECKS: Final[Mapping[str, StageCheck]] = {
    "every_line_is_accounted_for": StageCheck(
        "Every line that was read was accepted, rejected or outside the partition, once.",
        ("doubtful", "unexplained"),
    ),
    "some_rows_are_usable": StageCheck(
        "The source has usable rows; only a partition may have none.", ("empty",)
    ),
}
THREAD_CHECKS: Final[Mapping[str, StageCheck]] = {
    "every_row_is_in_one_thread": StageCheck(
        "Every row of the log is in exactly one thread, and threads have no other rows.",
        ("lost_rows", "added_rows", "repeated_positions"),
    ),
    "no_thread_mixes_users": StageCheck(
        "All queries of a thread are from one user.", ("mixed_threads",)
    ),
}
CLUSTER_CHECKS: Final[Mapping[str, StageCheck]] = {
    "every_thread_has_keys": StageCheck(
        "Every thread has a user, and a cluster in each round.", ("unnamed", "without_keys")
    ),
    "every_thread_has_a_place": StageCheck(
        "Every thread has a place below the number of places, or none if it stays unchanged.",
        ("misplaced",),
    ),
    "keywords_and_items_agree": StageCheck(
        "A thread has the keywords of its queries, and items for all of them.", ("odd_sizes",)
    ),
}


def count_lines(connection: Connection, raw: str) -> dict[str, int]:
    """Count accepted and rejected lines, and lines that are repeated or have no number."""
    # A query is one line; a basket is one line or several.
    comparison, distinct = (">", "DISTINCT") if raw == "raw_log" else (">=", "")
    counts = query_counts(connection, SORTED_LINES.format(raw=raw, comparison=comparison))
    if counts["unsorted"]:
        counts = query_counts(connection, LINES.format(raw=raw, distinct=distinct))
    counts |= query_counts(connection, REJECTED.format(raw=raw))
    counts["doubtful"] += counts.pop("unsorted")
    return counts | {"empty": int(not counts["rows"])}


def count_threads(connection: Connection) -> dict[str, int]:
    """Count rows that only the log or only the threads have, and faulty threads."""
    counts = query_counts(connection, SORTED_THREADS)
    if counts.pop("unsorted") or query_counts(connection, DIFFERENT_ROWS)["different_rows"]:
        return query_counts(connection, THREADS)
    faults = ("lost_rows", "added_rows", "mixed_threads", "repeated_positions")
    return counts | dict.fromkeys(faults, 0)


def count_clusters(connection: Connection) -> dict[str, int]:
    """Count threads and clusters, and threads with contradictory columns."""
    counts = query_counts(connection, CLUSTERS)
    places, last = max(count_places(counts.pop("with_items")), 1), counts.pop("last_place")
    if last >= places:
        counts["misplaced"] += query_counts(connection, BEYOND.format(places=places))["n"]
    if query_counts(connection, UNSORTED_CLUSTERS)["unsorted"]:
        counts["unnamed"] += query_counts(connection, REPEATED_THREADS)["repeated"]
    return counts
