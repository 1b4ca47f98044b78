"""Verification of a published file by plain SQL, with code that shares nothing with its makers.

Asks:       is it what a release looks like, and is every set in it that of k users (Definition 1)?
            Sets are compared word by word, letter for letter, never by a hash.
Answers:    counts, and nothing but counts. A file that cannot be read at all is refused.
Complexity: two scans of the file, two of the ledger; DuckDB spills what memory cannot hold.
"""
# ruff: noqa: S608 - what is put into a statement is a constant of this module, or an integer

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Final

from setanon_core.errors import InvalidParameterError
from setanon_core.params import check_k
from setanon_dagster.scans import Columns, Connection, ask, limited, view
from setanon_dagster.verdict import FileVerdict

LAYOUTS: Final[Mapping[str, Columns]] = {
    "sets": (("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")),
    "queries": (("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")),
}
"""What a published file has, by format; and nothing else."""

THREADS: Final[Mapping[str, str]] = {
    "sets": "SELECT thread_id, keywords FROM file WHERE thread_id IS NOT NULL",
    # As text, which is quicker to compare: no word of a query has a blank, so no two sets are
    # spelled alike. Words in whatever order: they are sorted in a moment.
    "queries": """SELECT thread_id, array_to_string(list_sort(list_distinct(string_split(
            string_agg(query, ' '), ' '))), ' ') AS keywords
        FROM file WHERE thread_id IS NOT NULL GROUP BY thread_id""",
}
"""The keywords of each thread, by format; sets are taken as they are spelled."""

WORDS: Final = {"sets": "keywords", "queries": "string_split(keywords, ' ')"}
"""Those keywords as a list, by format."""

MALFORMED: Final = "NOT regexp_full_match(thread_id, '[0-9a-f]{32}')"

PROBE: Final = 100_000
"""Rows of the words that users typed which settle most keywords: the common ones."""


def verify_file(  # noqa: PLR0913 - the file, what it is held against, and three limits
    path: Path,
    k: int,
    ledger: Path | None = None,
    *,
    words: Path | None = None,
    min_owners: int | None = None,
    threads: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> FileVerdict:
    """Count what keeps a file (Parquet, or text with tabs) from being a k-anonymous release.

    With the ledger (thread_id, user), distinct users are counted; without it, every thread counts
    as a user of its own, which is all that a reader of the release can check. `words` has what
    each user typed (user, words): `min_owners` of them, by default k, must have typed a keyword.
    `threads` and `memory` ("4GB") limit DuckDB, which spills into a folder made in `spill`.
    """
    least = check_k(k)
    owners = least if min_owners is None else min_owners
    if owners < 0:
        raise InvalidParameterError(f"min_owners must be 0 (off) or more; got {owners}.")
    with limited(threads, memory, spill) as connection:
        return _verdict(connection, path, least, ledger, words, owners)


def false_entries(
    ledger: Path,
    clusters: Path,
    *,
    threads: int | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> int:
    """Count the entries of a ledger (thread, user) whose thread is not that user's, or repeated.

    A ledger that names wrong users would make a crowd of one: k users by the ledger may be fewer
    by the log. `clusters` has the user of every thread.
    """
    with limited(threads, memory, spill) as connection:
        view(connection, "ledger", ledger)
        view(connection, "threads", clusters)
        return ask(
            connection,
            """SELECT count(*) FILTER (threads."user" IS DISTINCT FROM ledger."user")
                + count(*) - count(DISTINCT ledger.thread) AS false
                FROM ledger LEFT JOIN threads USING (thread)""",
        )["false"]


def _verdict(  # noqa: PLR0913, PLR0917 - the arguments of `verify_file`
    connection: Connection, path: Path, k: int, ledger: Path | None, words: Path | None, owners: int
) -> FileVerdict:
    columns = view(connection, "file", path)
    wrong, form = min(
        (sum(seen != due for seen, due in zip_longest(columns, layout)), form)
        for form, layout in LAYOUTS.items()
    )
    faults = {"wrong_columns": wrong}
    if not set(LAYOUTS[form]) <= set(columns):
        return FileVerdict(k, 0, 0, 0, 0, 0, **faults)
    faults |= _rows(connection, form)
    sharing = THREADS[form]
    if ledger is not None:
        view(connection, "ledger", ledger)
        found, sharing = _entries(connection, form, ordered=not any(faults.values()))
        faults |= found
    faults |= _sets(connection, form, sharing, named=ledger is not None)
    faults["nulls"] += faults.pop("lacking")
    if words is not None:
        view(connection, "vocabularies", words)
        faults |= _owners(connection, WORDS[form], owners)
    counts = ask(
        connection,
        f"""SELECT coalesce(sum(threads), 0) AS records, count(*) AS groups,
            coalesce(min(users), 0) AS smallest_group,
            coalesce(sum(threads) FILTER (users < {k}), 0) AS violations,
            count(*) FILTER (users < {k}) AS violating_groups
            FROM groups WHERE keywords IS NOT NULL""",
    )
    return FileVerdict(k, **counts, **faults)


def _rows(connection: Connection, form: str) -> dict[str, int]:
    """Count what single rows, or a row and the row before it, have wrong."""
    queries = form == "queries"
    # Where the file's own statistics know of no null, this reads nothing. Null sets come later.
    null = "thread_id IS NULL" + " OR position IS NULL OR query IS NULL" * queries
    counts = ask(connection, f"SELECT count(*) AS nulls FROM file WHERE {null}") | ask(
        connection,
        f"""SELECT count(*) FILTER (CASE WHEN thread_id = above THEN false ELSE {MALFORMED} END)
                AS malformed_ids,
            count(*) FILTER (thread_id = above AND place = place_above) AS repeated_rows,
            count(*) FILTER (thread_id < above OR (thread_id = above AND place < place_above))
                AS unsorted_rows,
            count(*) FILTER ({queries} AND place <>
                CASE WHEN thread_id = above THEN place_above + 1 ELSE 0 END) AS broken_positions
        FROM (SELECT *, lag(thread_id) OVER () AS above, lag(place) OVER () AS place_above
            FROM (SELECT thread_id, {"position" if queries else "0"} AS place FROM file))""",
    )
    if counts["malformed_ids"]:
        # Only the first row of a thread was looked at; now all are counted.
        counts |= ask(connection, f"SELECT count(*) AS malformed_ids FROM file WHERE {MALFORMED}")
    return counts


def _entries(connection: Connection, form: str, *, ordered: bool) -> tuple[dict[str, int], str]:
    """Hold the ledger against the file; say how to find the user of each thread.

    A ledger with the very ids of a file whose ids ascend has each of them once, and no other.
    """
    ids = "SELECT thread_id FROM file" + " WHERE position = 0" * (form == "queries")
    odd = f"""SELECT count(*) AS odd FROM ({ids}) AS ids
        POSITIONAL JOIN (SELECT thread_id FROM ledger) AS entries
        WHERE (ids.thread_id = entries.thread_id) IS NOT TRUE"""
    if ordered and not ask(connection, odd)["odd"]:
        found = ask(connection, 'SELECT count(*) AS null_entries FROM ledger WHERE "user" IS NULL')
        both = "file POSITIONAL JOIN ledger"
        if form == "queries":
            both = f"({THREADS[form]}) JOIN ledger USING (thread_id)"
        return found, f'SELECT keywords, "user", false AS unknown, false AS absent FROM {both}'
    ask(
        connection,
        """CREATE TEMP TABLE entries AS SELECT thread_id, min("user") AS "user", count(*) AS rows,
            count(*) FILTER (thread_id IS NULL OR "user" IS NULL) AS nulls
            FROM ledger GROUP BY thread_id""",
    )
    found = ask(
        connection,
        """SELECT count(*) FILTER (rows > 1) AS repeated_entries,
            coalesce(sum(nulls), 0) AS null_entries FROM entries""",
    )
    # What the file lacks has no keywords, and what has no keywords is not published.
    joined = f"""SELECT keywords, "user", rows IS NULL AS unknown,
        published.thread_id IS NULL AS absent
        FROM (FROM ({THREADS[form]}) WHERE keywords IS NOT NULL) AS published
        FULL JOIN (FROM entries WHERE thread_id IS NOT NULL) AS entries
        ON published.thread_id = entries.thread_id
        UNION ALL SELECT NULL, NULL, true, false FROM ({THREADS[form]}) WHERE keywords IS NULL"""
    return found, joined


def _sets(connection: Connection, form: str, sharing: str, *, named: bool) -> dict[str, int]:
    """Gather the distinct sets; count what is wrong with them, in threads."""
    words = WORDS[form]
    _group(connection, "keywords", sharing, named=named)
    found = ask(
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
        found |= ask(
            connection,
            """SELECT coalesce(sum(unknown) FILTER (keywords IS NOT NULL), 0) AS unknown_threads,
                coalesce(sum(threads - unknown) FILTER (keywords IS NULL), 0)
                    AS unpublished_entries FROM groups""",
        )
    if found["unsorted_sets"]:
        # A set is the same however it is spelled: gather them again.
        _group(connection, "list_sort(list_distinct(keywords))", sharing, named=named)
    return found


def _group(connection: Connection, keywords: str, sharing: str, *, named: bool) -> None:
    """Count the threads and the users of each set, in a table of the sets."""
    if named:
        # By set and user, then by set: quicker than to count distinct users, and it spills.
        counted = f"""SELECT keywords, sum(threads) AS threads, count("user") AS users,
            sum(unknown) AS unknown, sum(absent) AS absent
            FROM (SELECT {keywords} AS keywords, "user", count(*) AS threads,
                count(*) FILTER (unknown) AS unknown, count(*) FILTER (absent) AS absent
                FROM ({sharing}) GROUP BY ALL) GROUP BY keywords"""
    else:
        counted = f"""SELECT {keywords} AS keywords, count(*) AS threads, count(*) AS users,
            0 AS absent FROM ({sharing}) GROUP BY ALL"""
    ask(connection, f"CREATE OR REPLACE TEMP TABLE groups AS {counted}")


def _owners(connection: Connection, words: str, owners: int) -> dict[str, int]:
    """Count the published keywords that too few users typed, or nobody at all."""
    # Whoever typed a word in some of the rows typed it: what these settle is settled.
    settled = f"""SELECT word FROM (
        SELECT DISTINCT "user", unnest(words) AS word FROM (FROM vocabularies LIMIT {PROBE}))
        GROUP BY word HAVING count("user") >= {owners}"""
    published = f"SELECT DISTINCT unnest({words}) AS word FROM groups"
    return ask(
        connection,
        f"""WITH doubtful AS MATERIALIZED (
            FROM ({published}) ANTI JOIN ({settled}) USING (word))
        SELECT count(*) FILTER (users < {owners}) AS rare_keywords FROM (
            SELECT word, count(DISTINCT "user") AS users FROM doubtful LEFT JOIN
                (SELECT "user", unnest(words) AS word FROM vocabularies) USING (word)
            GROUP BY word)""",
    )
