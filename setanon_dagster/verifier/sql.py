"""Files as views of a connection of its own, for a verifier that trusts no code but DuckDB's."""

from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import duckdb

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError

Connection = duckdb.DuckDBPyConnection
Columns = tuple[tuple[str, str], ...]


class Limits(TypedDict):
    """How much of the machine DuckDB may take, and where it spills what memory cannot hold."""

    cores: int | None
    memory: str | None
    spill: Path | None


@contextmanager
def open_connection(
    cores: int | None, memory: str | None, spill: Path | None
) -> Iterator[Connection]:
    """A connection of its own, within these limits."""
    # What DuckDB spills may be private, and its own choice is a folder where the process runs.
    with TemporaryDirectory(prefix="setanon-", dir=spill) as own, duckdb.connect() as connection:
        limits = {"temp_directory": own, "threads": cores, "memory_limit": memory}
        for off in ("python_enable_replacements", "enable_progress_bar"):
            connection.execute(f"SET {off} = false")
        for name, value in limits.items():
            if value is not None:
                connection.execute(f"SET {name} = ?", [value])
        yield connection


def create_view(connection: Connection, name: str, path: Path) -> Columns:
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


def query_counts(connection: Connection, sql: str) -> dict[str, int]:
    """The row of counts that a statement answers with, by the names of its columns."""
    try:
        answer = connection.execute(sql)
        names = [column[0] for column in answer.description or ()]
        rows = answer.fetchall()
        return {name: int(count) for row in rows for name, count in zip(names, row, strict=True)}
    except duckdb.Error as error:
        failure = type(error).__name__
    raise _unreadable(failure)


def _unreadable(failure: str) -> SetanonError:
    # Made outside of any handler: DuckDB's own words may quote the data, and logs would show them.
    if failure == duckdb.OutOfMemoryException.__name__:
        return InvalidParameterError(
            "memory must hold what verification cannot spill; DuckDB ran out of it, and nothing is "
            "verified. Give it more memory, or fewer cores."
        )
    return MalformedInputError(
        "the release, its ledger and the words of its users must be files that DuckDB can read, "
        f"with the columns of their kind; it refused with {failure}. Make the files again."
    )
