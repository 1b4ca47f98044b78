"""Verification of a published file by plain SQL, with code that shares nothing with its makers.

Asks:       is it what a release looks like, and is every set in it that of k users (Definition 1)?
            Sets are compared as sorted lists of words, letter for letter, never by a hash.
Answers:    counts, and nothing but counts. A file that cannot be read at all is refused.
Complexity: three scans of the file, two of the ledger; DuckDB spills what memory cannot hold.
"""
# ruff: noqa: S608 - what is put into a statement is a constant of this module, or an integer

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from glob import escape
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypedDict

import duckdb

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.params import check_k
from setanon_dagster.verdict import FileVerdict

Connection = duckdb.DuckDBPyConnection
Columns = tuple[tuple[str, str], ...]


class Limits(TypedDict):
    """How much of the machine DuckDB may take, and where it spills what memory cannot hold."""

    threads: int | None
    memory: str | None
    spill: Path | None


LAYOUTS: Final[Mapping[str, Columns]] = {
    "sets": (("thread_id", "VARCHAR"), ("keywords", "VARCHAR[]")),
    "queries": (("thread_id", "VARCHAR"), ("position", "BIGINT"), ("query", "VARCHAR")),
}
"""What a published file has, by format; and nothing else."""


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
    with _connection(threads, memory, spill) as connection:
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
    with _connection(threads, memory, spill) as connection:
        _view(connection, "ledger", ledger)
        _view(connection, "threads", clusters)
        return _ask(
            connection,
            """SELECT count(*) FILTER (threads."user" IS DISTINCT FROM ledger."user")
                + count(*) - count(DISTINCT ledger.thread) AS false
                FROM ledger LEFT JOIN threads USING (thread)""",
        )["false"]


@contextmanager
def _connection(
    threads: int | None, memory: str | None, spill: Path | None
) -> Iterator[Connection]:
    """A connection of its own, within these limits."""
    # What DuckDB spills may be private, and its own choice is a folder where the process runs.
    with TemporaryDirectory(prefix="setanon-", dir=spill) as own, duckdb.connect() as connection:
        limits = {"temp_directory": own, "threads": threads, "memory_limit": memory}
        connection.execute("SET python_enable_replacements = false")
        for name, value in limits.items():
            if value is not None:
                connection.execute(f"SET {name} = ?", [value])
        yield connection


def _verdict(  # noqa: PLR0913, PLR0917 - the arguments of `verify_file`
    connection: Connection, path: Path, k: int, ledger: Path | None, words: Path | None, owners: int
) -> FileVerdict:
    columns = _view(connection, "file", path)
    wrong, form = min(
        (sum(seen != due for seen, due in zip_longest(columns, layout)), form)
        for form, layout in LAYOUTS.items()
    )
    faults = {"wrong_columns": wrong}
    if not set(LAYOUTS[form]) <= set(columns):
        return FileVerdict(k, 0, 0, 0, 0, 0, **faults)
    faults |= _rows(connection, form) | _sets(connection, form)
    users = "SELECT number, threads, threads AS users FROM sets"
    if ledger is not None:
        _view(connection, "ledger", ledger)
        faults |= _entries(connection)
        users = "FROM shared WHERE number IS NOT NULL"
    if words is not None:
        _view(connection, "vocabularies", words)
        faults |= _owners(connection, owners)
    counts = _ask(
        connection,
        f"""SELECT coalesce(sum(threads), 0) AS records, count(*) AS groups,
            coalesce(min(users), 0) AS smallest_group,
            coalesce(sum(threads) FILTER (users < {k}), 0) AS violations,
            count(*) FILTER (users < {k}) AS violating_groups FROM ({users})""",
    )
    return FileVerdict(k, **counts, **faults)


def _view(connection: Connection, name: str, path: Path) -> Columns:
    """Give a file the name by which statements know it; return its columns."""
    # One file, whatever brackets are in its name; folders named like date=2026 are no columns.
    literal = escape(str(path))
    try:
        if path.suffix == ".tsv":
            relation = _text(connection, literal, path)
        else:
            relation = connection.read_parquet(literal, hive_partitioning=False)
        relation.create_view(name)
        return tuple(zip(relation.columns, map(str, relation.types), strict=True))
    except (duckdb.Error, OSError, UnicodeError) as error:
        failure = type(error).__name__
    raise _unreadable(failure)


def _text(connection: Connection, literal: str, path: Path) -> duckdb.DuckDBPyRelation:
    """Text with a header: fields between tabs, keywords between blanks, nothing quoted."""
    with path.open(encoding="utf-8", newline="\n") as file:
        names = file.readline().rstrip("\r\n").split("\t")
    relation = connection.read_csv(
        literal, delimiter="\t", header=True, quotechar="", escapechar="", auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
    )  # fmt: skip
    known = {
        "position": "TRY_CAST(position AS BIGINT) AS position",
        "keywords": "string_split(keywords, ' ') AS keywords",
    }
    quoted = (known.get(name, '"' + name.replace('"', '""') + '"') for name in names)
    return relation.project(", ".join(quoted))


def _rows(connection: Connection, form: str) -> dict[str, int]:
    """Count what single rows, or a row and the row before it, have wrong."""
    queries = form == "queries"
    place, words = ("position", "query") if queries else ("0", "keywords")
    return _ask(
        connection,
        f"""SELECT
            count(*) FILTER (thread_id IS NULL OR place IS NULL OR lacking) AS nulls,
            count(*) FILTER (NOT regexp_full_match(thread_id, '[0-9a-f]{{32}}')) AS malformed_ids,
            count(*) FILTER (thread_id = above AND place = place_above) AS repeated_rows,
            count(*) FILTER (thread_id < above OR (thread_id = above AND place < place_above))
                AS unsorted_rows,
            count(*) FILTER ({queries} AND place <>
                CASE WHEN thread_id = above THEN place_above + 1 ELSE 0 END) AS broken_positions
        FROM (SELECT thread_id, {place} AS place, {words} IS NULL AS lacking,
            lag(thread_id) OVER () AS above, lag({place}) OVER () AS place_above FROM file)""",
    )


def _sets(connection: Connection, form: str) -> dict[str, int]:
    """Number the distinct sets; count what is wrong with them, in threads."""
    if form == "sets":
        made, split = "VIEW threads AS SELECT thread_id, keywords AS words", "words"
        grouped = ""
    else:
        # Words in whatever order: they become a set in a moment.
        made = "TABLE threads AS SELECT thread_id, string_agg(query, ' ') AS words"
        split, grouped = "string_split(words, ' ')", "GROUP BY thread_id"
    for statement in (
        f"CREATE TEMP {made} FROM file WHERE thread_id IS NOT NULL {grouped}",
        # Sorting is slow, and many threads are alike: sort what differs only.
        f"""CREATE TEMP TABLE typed AS SELECT words, {split} AS list,
            list_sort(list_distinct({split})) AS keywords, count(*) AS threads
            FROM threads WHERE words IS NOT NULL GROUP BY words""",
        """CREATE TEMP TABLE sets AS SELECT row_number() OVER () AS number, keywords, threads
            FROM (SELECT keywords, sum(threads) AS threads FROM typed GROUP BY keywords)""",
    ):
        _ask(connection, statement)
    return _ask(
        connection,
        f"""SELECT coalesce(sum(threads) FILTER (len(list) = 0), 0) AS empty_sets,
            coalesce(sum(threads) FILTER (list_contains(keywords, '')
                OR len(list) > list_count(list)), 0) AS empty_words,
            coalesce(sum(threads) FILTER ({form == "sets"} AND list <> keywords), 0)
                AS unsorted_sets FROM typed""",
    )


def _entries(connection: Connection) -> dict[str, int]:
    """Hold the ledger against the file; count the users who share each set."""
    for statement in (
        "CREATE TEMP TABLE spelled AS SELECT words, number FROM typed JOIN sets USING (keywords)",
        """CREATE TEMP TABLE entries AS SELECT thread_id, min("user") AS "user", count(*) AS rows,
            count(*) FILTER (thread_id IS NULL OR "user" IS NULL) AS nulls
            FROM ledger GROUP BY thread_id""",
        # What the file lacks has no number.
        """CREATE TEMP TABLE shared AS SELECT number, count(*) AS threads,
            count(DISTINCT "user") AS users, count(*) FILTER (rows IS NULL) AS unknown,
            count(*) FILTER (number IS NULL AND entries.thread_id IS NOT NULL) AS unpublished
            FROM (SELECT thread_id, number FROM threads JOIN spelled USING (words)) AS published
            FULL JOIN entries ON published.thread_id = entries.thread_id GROUP BY number""",
    ):
        _ask(connection, statement)
    return _ask(
        connection,
        """SELECT count(*) FILTER (rows > 1) AS repeated_entries,
            coalesce(sum(nulls), 0) AS null_entries FROM entries""",
    ) | _ask(
        connection,
        """SELECT coalesce(sum(unknown), 0) AS unknown_threads,
            coalesce(sum(unpublished), 0) AS unpublished_entries FROM shared""",
    )


def _owners(connection: Connection, owners: int) -> dict[str, int]:
    """Count the published keywords that too few users typed, or nobody at all."""
    return _ask(
        connection,
        f"""SELECT count(*) FILTER (users < {owners}) AS rare_keywords FROM (
            SELECT word, count(DISTINCT "user") AS users
            FROM (SELECT DISTINCT unnest(keywords) AS word FROM sets) LEFT JOIN
                (SELECT "user", unnest(words) AS word FROM vocabularies) USING (word)
            GROUP BY word)""",
    )


def _ask(connection: Connection, sql: str) -> dict[str, int]:
    """The row of counts that a statement answers with, by the names of its columns."""
    try:
        answer = connection.execute(sql)
        names = [column[0] for column in answer.description or ()]
        rows = answer.fetchall()
        return {name: int(count) for row in rows for name, count in zip(names, row, strict=True)}
    except duckdb.Error as error:
        failure = type(error).__name__
    raise _unreadable(failure)


def _unreadable(failure: str) -> MalformedInputError:
    # Made outside of any handler: DuckDB's own words may quote the data, and logs would show them.
    return MalformedInputError(
        "the release, its ledger and the words of its users must be files that DuckDB can read, "
        f"with the columns of their kind; it refused with {failure}. Make the files again."
    )
