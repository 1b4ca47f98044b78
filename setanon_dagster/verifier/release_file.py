"""Verification of a published file by plain SQL, with code that shares nothing with its makers.

Asks:       is it what a release looks like, and is every set in it that of k users (Definition 1)?
            Sets are compared word by word, letter for letter, never by a hash.
Answers:    counts, and nothing but counts. A file that cannot be read at all is refused.
Complexity: two scans of the file, one of the ledger; DuckDB spills what memory cannot hold.
"""
# ruff: noqa: S608 - what is put into a statement is a constant of this module, or an integer

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Final

from setanon_core.errors import InvalidParameterError
from setanon_core.ranges import check_k
from setanon_dagster.verifier.owners import rare_keywords
from setanon_dagster.verifier.sql import (
    Columns,
    Connection,
    create_view,
    open_connection,
    query_counts,
)
from setanon_dagster.verifier.verdict import DetailedVerdict

LAYOUTS: Final[Mapping[str, Columns]] = {
    "sets": (("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")),
    "queries": (("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")),
}
"""What a published file has, by format; and nothing else."""

THREADS: Final[Mapping[str, str]] = {
    "sets": "SELECT thread_id, keywords AS spelled FROM file WHERE thread_id IS NOT NULL",
    # A query that a thread repeats says nothing new: it is left out before texts get long.
    "queries": """SELECT thread_id, string_agg(query, ' ') AS spelled
        FROM (SELECT DISTINCT thread_id, query FROM file WHERE thread_id IS NOT NULL)
        GROUP BY thread_id""",
}
"""What each thread says, by format, its words in whatever order."""

SETS: Final = {
    "sets": "spelled",
    # As text, which is quicker to compare: no word of a query has a blank, so no two sets are
    # spelled alike.
    "queries": "array_to_string(list_sort(list_distinct(string_split(spelled, ' '))), ' ')",
}
"""The set of what is said, by format; published sets are taken as they are spelled."""

WORDS: Final = {"sets": "keywords", "queries": "string_split(keywords, ' ')"}
"""Those keywords as a list, by format."""

WELL_FORMED: Final = "regexp_full_match(thread_id, '[0-9a-f]{32}')"


def verify_file(  # noqa: PLR0913 - the file, what it is held against, and three limits
    path: Path,
    k: int,
    ledger: Path | None = None,
    *,
    words: Path | None = None,
    min_owners: int | None = None,
    cores: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> DetailedVerdict:
    """Count what keeps a file (Parquet, or text with tabs) from being a k-anonymous release.

    With the ledger (thread_id, user), distinct users are counted; without it, every thread counts
    as a user of its own, which is all that a reader of the release can check. `words` has what
    each user typed (user, words): `min_owners` of them, by default k, must have typed a keyword.
    `cores` and `memory` ("4GB") limit DuckDB, which spills into a folder made in `spill`.
    """
    least = check_k(k)
    owners = least if min_owners is None else min_owners
    if owners < 0:
        raise InvalidParameterError(f"min_owners must be 0 (off) or more; got {owners}.")
    with open_connection(cores, memory, spill) as connection:
        return _verdict(connection, path, least, ledger, words, owners)


def _verdict(  # noqa: PLR0913, PLR0917 - the arguments of `verify_file`
    connection: Connection, path: Path, k: int, ledger: Path | None, words: Path | None, owners: int
) -> DetailedVerdict:
    columns = create_view(connection, "file", path)
    wrong, form = min(
        (sum(seen != due for seen, due in zip_longest(columns, layout)), form)
        for form, layout in LAYOUTS.items()
    )
    faults = {"wrong_columns": wrong}
    if not set(LAYOUTS[form]) <= set(columns):
        return DetailedVerdict(k, 0, 0, 0, 0, 0, **faults)
    faults |= _rows(connection, form)
    sharing = THREADS[form]
    if ledger is not None:
        create_view(connection, "ledger", ledger)
        found, sharing = _entries(connection, form, faults)
        faults |= found
    else:
        _group(connection, SETS[form], sharing, named=False)
    faults |= _sets(connection, form, sharing, named=ledger is not None)
    faults["nulls"] += faults.pop("lacking")
    del faults["published"]
    if words is not None:
        create_view(connection, "vocabularies", words)
        faults |= rare_keywords(connection, WORDS[form], owners)
    counts = query_counts(
        connection,
        f"""SELECT coalesce(sum(threads), 0) AS records, count(*) AS groups,
            coalesce(min(users), 0) AS smallest_group,
            coalesce(sum(threads) FILTER (users < {k}), 0) AS violations,
            count(*) FILTER (users < {k}) AS violating_groups
            FROM groups WHERE keywords IS NOT NULL""",
    )
    return DetailedVerdict(k, **counts, **faults, sizes=_sizes(connection))


def _rows(connection: Connection, form: str) -> dict[str, int]:
    """Count the threads, and what single rows, or a row and the row before it, have wrong."""
    queries = form == "queries"
    # Where the file's own statistics know of no null, this reads nothing. Null sets come later.
    null = "thread_id IS NULL" + " OR position IS NULL OR query IS NULL" * queries
    rows = f"""FROM (SELECT *, lag(thread_id) OVER () AS above, lag(place) OVER () AS place_above
        FROM (SELECT thread_id, {"position" if queries else "0"} AS place FROM file))"""
    counts = query_counts(
        connection, f"SELECT count(*) AS nulls FROM file WHERE {null}"
    ) | query_counts(
        connection,
        f"""SELECT count(*) FILTER (thread_id IS DISTINCT FROM above) AS published,
            count(*) FILTER ((CASE WHEN thread_id = above THEN place = place_above + 1 ELSE
                (above IS NULL OR thread_id > above) AND place = 0 AND {WELL_FORMED} END)
                IS NOT TRUE) AS odd {rows}""",
    )
    if counts.pop("odd"):
        counts |= query_counts(
            connection,
            f"""SELECT count(*) FILTER (NOT {WELL_FORMED}) AS malformed_ids,
                count(*) FILTER (thread_id = above AND place = place_above) AS repeated_rows,
                count(*) FILTER (thread_id < above OR (thread_id = above AND place < place_above))
                    AS unsorted_rows,
                count(*) FILTER ({queries} AND place <>
                    CASE WHEN thread_id = above THEN place_above + 1 ELSE 0 END)
                    AS broken_positions {rows}""",
        )
    return counts


def _entries(
    connection: Connection, form: str, faults: Mapping[str, int]
) -> tuple[dict[str, int], str]:
    """Hold the ledger against the file, and count the users of each set; say how they were found.

    If every thread is met once, and the ledger has as many entries, then it has those and no other.
    """
    if not any(count for fault, count in faults.items() if fault != "published"):
        # Ids of such a file ascend, and so do those of the ledger, as it was made with the sets.
        both = "file POSITIONAL JOIN ledger"
        if form == "queries":
            both = f"({THREADS[form]}) AS file LEFT JOIN ledger USING (thread_id)"
        spelled = "keywords AS spelled" if form == "sets" else "spelled"
        fitting = f"""SELECT {spelled}, "user", false AS absent,
            (file.thread_id = ledger.thread_id) IS NOT TRUE AS unknown FROM {both}"""
        _group(connection, SETS[form], fitting, named=True)
        fits = query_counts(
            connection,
            f"""SELECT count(*) FILTER (unknown = 0 AND threads = {faults["published"]}
                AND threads = (SELECT count(*) FROM ledger)) AS fits
                FROM (SELECT coalesce(sum(unknown), 0) AS unknown,
                    coalesce(sum(threads), 0) AS threads FROM groups)""",
        )
        if fits["fits"]:
            nameless = 'SELECT count(*) AS null_entries FROM ledger WHERE "user" IS NULL'
            return query_counts(connection, nameless), fitting
    query_counts(
        connection,
        """CREATE TEMP TABLE entries AS SELECT thread_id, min("user") AS "user", count(*) AS rows,
            count(*) FILTER (thread_id IS NULL OR "user" IS NULL) AS nulls
            FROM ledger GROUP BY thread_id""",
    )
    # What the file lacks has no keywords, and what has no keywords is not published.
    joined = f"""SELECT spelled, "user", rows IS NULL AS unknown,
        published.thread_id IS NULL AS absent
        FROM (FROM ({THREADS[form]}) WHERE spelled IS NOT NULL) AS published
        FULL JOIN (FROM entries WHERE thread_id IS NOT NULL) AS entries
        ON published.thread_id = entries.thread_id
        UNION ALL SELECT NULL, NULL, true, false FROM ({THREADS[form]}) WHERE spelled IS NULL"""
    _group(connection, SETS[form], joined, named=True)
    found = query_counts(
        connection,
        """SELECT count(*) FILTER (rows > 1) AS repeated_entries,
            coalesce(sum(nulls), 0) AS null_entries FROM entries""",
    )
    return found, joined


def _group(connection: Connection, sets: str, sharing: str, *, named: bool) -> None:
    """Count the threads and the users of each set, in a table of the sets."""
    if named:
        said = f"SELECT *, spelled AS keywords FROM ({sharing})"
        if sets != "spelled":
            # Many threads say the same: words are sorted once for all of them.
            said = f"""WITH said AS MATERIALIZED ({sharing}),
                sets AS (SELECT spelled, {sets} AS keywords
                    FROM (SELECT DISTINCT spelled FROM said))
                SELECT * FROM said LEFT JOIN sets USING (spelled)"""
        # By set and user, then by set: quicker than to count distinct users, and it spills.
        counted = f"""SELECT keywords, sum(threads) AS threads, count("user") AS users,
            sum(unknown) AS unknown, sum(absent) AS absent
            FROM (SELECT keywords, "user", count(*) AS threads,
                count(*) FILTER (unknown) AS unknown, count(*) FILTER (absent) AS absent
                FROM ({said}) GROUP BY keywords, "user") GROUP BY keywords"""
    else:
        many = "threads" if sets == "spelled" else "sum(threads)"
        counted = (
            f"""SELECT {sets} AS keywords, {many} AS threads, {many} AS users,
            0 AS absent FROM (SELECT spelled, count(*) AS threads FROM ({sharing}) GROUP BY spelled)
            """
            + "GROUP BY keywords" * (many != "threads")
        )
    query_counts(connection, f"CREATE OR REPLACE TEMP TABLE groups AS {counted}")


def _sets(connection: Connection, form: str, sharing: str, *, named: bool) -> dict[str, int]:
    """Count what is wrong with the sets, in threads."""
    words = WORDS[form]
    found = query_counts(
        connection,
        f"""SELECT coalesce(sum(threads - absent) FILTER (keywords IS NULL AND {form == "sets"}), 0)
                AS lacking,
            coalesce(sum(threads) FILTER (len({words}) = 0), 0) AS empty_sets,
            coalesce(sum(threads) FILTER (list_contains({words}, '')
                OR len({words}) > list_count({words})), 0) AS empty_words,
            coalesce(sum(threads) FILTER ({form == "sets"} AND (list_sort({words}) <> {words}
                OR list_unique({words}) <> len({words}))), 0) AS unsorted_sets FROM groups""",
    )
    if named:
        found |= query_counts(
            connection,
            """SELECT coalesce(sum(unknown) FILTER (keywords IS NOT NULL), 0) AS unknown_threads,
                coalesce(sum(threads - unknown) FILTER (keywords IS NULL), 0)
                    AS unpublished_entries FROM groups""",
        )
    if found["unsorted_sets"]:
        # A set is the same however it is spelled: gather them again.
        _group(connection, "list_sort(list_distinct(spelled))", sharing, named=named)
    return found


def _sizes(connection: Connection) -> tuple[tuple[int, int, int], ...]:
    """How many sets, with how many threads, have so many users."""
    return tuple(
        connection.execute(
            """SELECT users::BIGINT, count(*), sum(threads)::BIGINT FROM groups
            WHERE keywords IS NOT NULL GROUP BY users ORDER BY users"""
        ).fetchall()
    )
