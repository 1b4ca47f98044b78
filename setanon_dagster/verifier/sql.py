"""DuckDB connections of the verifier: files as views, and queries that return counts.

Error messages of DuckDB may quote data, so they are replaced by the class of the error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypedDict

import duckdb

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError

if TYPE_CHECKING:
    import pyarrow as pa

Connection = duckdb.DuckDBPyConnection
BATCH_ROWS: Final = 122_880
"""Rows that are processed at once in Python: a row group of our files."""

Columns = tuple[tuple[str, str], ...]
"""Names and DuckDB types of columns."""


class Limits(TypedDict):
    """Limits of DuckDB: cores, memory ("4GB"), and the folder for spilled data."""

    cores: int | None
    memory: str | None
    spill: Path | None


@contextmanager
def open_connection(
    cores: int | None, memory: str | None, spill: Path | None
) -> Iterator[Connection]:
    """Open an in-memory database that spills into a private temporary folder in `spill`."""
    # Spilled data may be private; DuckDB's default is a folder in the working directory.
    with TemporaryDirectory(prefix="setanon-", dir=spill) as folder, duckdb.connect() as connection:
        limits = {"temp_directory": folder, "threads": cores, "memory_limit": memory}
        for setting in ("python_enable_replacements", "enable_progress_bar"):
            connection.execute(f"SET {setting} = false")
        for name, value in limits.items():
            if value is not None:
                connection.execute(f"SET {name} = ?", [value])
        yield connection


def create_view(connection: Connection, name: str, path: Path) -> Columns:
    """Create a view of a file (Parquet, or TSV by its suffix); return its columns."""
    # Brackets in a path are not a glob pattern, and a folder date=2026 is not a column.
    literal = escape(str(path))
    try:
        if path.suffix == ".tsv":
            relation = _read_tsv(connection, literal, path)
        else:
            relation = connection.read_parquet(literal, hive_partitioning=False)
        relation.create_view(name)
        return tuple(zip(relation.columns, map(str, relation.types), strict=True))
    except (duckdb.Error, OSError, UnicodeError) as error:
        failure = type(error).__name__
    raise _redacted_error(failure)


def _read_tsv(connection: Connection, literal: str, path: Path) -> duckdb.DuckDBPyRelation:
    """Read tab-separated text with a header and no quotes; keywords are separated by blanks."""
    with path.open(encoding="utf-8", newline="\n") as file:
        names = file.readline().rstrip("\r\n").split("\t")
    relation = connection.read_csv(
        literal, delimiter="\t", header=True, quotechar="", escapechar="", auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
    )  # fmt: skip
    typed = {
        "position": "TRY_CAST(position AS BIGINT) AS position",
        "keywords": "string_split(keywords, ' ') AS keywords",
    }
    columns = (typed.get(name, '"' + name.replace('"', '""') + '"') for name in names)
    return relation.project(", ".join(columns))


def count_footer_entries(connection: Connection, path: Path) -> int:
    """Count the key-value entries in the footer of a Parquet file; a TSV file has none."""
    if path.suffix == ".tsv":
        return 0
    try:
        rows = connection.execute(
            "SELECT count(*) FROM parquet_kv_metadata(?)", [escape(str(path))]
        ).fetchall()
        return int(rows[0][0])
    except (duckdb.Error, OSError) as error:
        failure = type(error).__name__
    raise _redacted_error(failure)


def execute(connection: Connection, sql: str) -> None:
    """Execute a statement that returns no rows."""
    query_rows(connection, sql)


def query_counts(connection: Connection, sql: str) -> dict[str, int]:
    """Return the one row of counts of a query, by column name."""
    [row] = query_rows(connection, sql)
    names = [column[0] for column in connection.description or ()]
    return {name: int(count) for name, count in zip(names, row, strict=True)}


def query_rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    """Return all rows of a query."""
    try:
        return connection.execute(sql).fetchall()
    except duckdb.Error as error:
        failure = type(error).__name__
    raise _redacted_error(failure)


def read_batches(connection: Connection, sql: str, rows: int | None = None) -> "Iterator[pa.Table]":
    """The rows of a query in their order, in tables of at most `rows` (`BATCH_ROWS`) rows.

    Other statements may be executed on the connection while they are read.
    """
    import pyarrow as pa

    try:
        reader = connection.cursor().sql(sql).to_arrow_reader(rows or BATCH_ROWS)
        for batch in reader:
            yield pa.Table.from_batches([batch])
    except duckdb.Error as error:
        failure = type(error).__name__
    else:
        return
    raise _redacted_error(failure)


@contextmanager
def redact_arrow_errors() -> Iterator[None]:
    """Replace errors of Arrow and NumPy by the class of the error; `SetanonError` is unchanged."""
    import pyarrow as pa  # here: `setanon verify` works without it

    try:
        yield
    except SetanonError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _redacted_error(type(error).__name__) from None


def _redacted_error(failure: str) -> SetanonError:
    # Raised outside of any handler: a traceback with DuckDB's message could show data in logs.
    if failure == duckdb.OutOfMemoryException.__name__:
        return InvalidParameterError(
            "memory must suffice for what verification cannot spill; DuckDB ran out of memory and "
            "nothing was verified. Set a higher memory limit or fewer cores."
        )
    return MalformedInputError(
        "the files of a release must be readable by DuckDB and have the columns of their stage; "
        f"{failure} was raised. Create the files again."
    )
