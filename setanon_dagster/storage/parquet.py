"""Read and write tables as Parquet files with DuckDB.

Writes are atomic: a reader sees the old file or the new one. Equal rows give equal bytes.
"""

import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Final

import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from pyarrow import parquet

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.relations import as_relation, with_declared_types

ROW_GROUP_SIZE: Final = 122_880
"""Rows per row group: DuckDB's current default, pinned because the bytes of a file depend on it."""

LEVEL: Final = 1
"""zstd level, pinned for reproducible bytes. Higher ones make releases larger: thread ids are
random digits."""


def write_parquet(  # noqa: PLR0913 - all but the first two have defaults
    data: object,
    path: Path,
    *,
    order_by: str | None = None,
    mode: int = 0o600,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    connection: DuckDBPyConnection | None = None,
    redact: bool = True,
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write a relation, an Arrow table or reader, or a DataFrame; return the number of rows.

    `types` declares DuckDB types for columns whose type cannot be inferred. `name` is the name of
    the table in error messages. Data other than relations is read through `connection`, or through
    a new one. With `redact=False`, exceptions of the input reader propagate unchanged; their
    messages may contain data. `metadata` is stored in the footer of the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_parquet(pa.table({"line": [2, 1]}), Path(folder) / "t.parquet", order_by="line")
    2
    """
    name = path.name if name is None else name
    used = connect() if connection is None else connection
    errors: list[BaseException] = []
    try:
        with redact_engine_errors(f"{name} could not be written; an older file is unchanged"):
            relation = with_declared_types(
                as_relation(data, name, used, ROW_GROUP_SIZE, errors), types or {}, name, used
            )
            ordered = relation if order_by is None else relation.order(order_by)
            return _replace(ordered, path, mode, metadata or {})
    except SetanonError:
        # The input's own error is more precise than DuckDB's; Ctrl-C is not an error of the data.
        if errors and (not redact or isinstance(errors[0], SetanonError | KeyboardInterrupt)):
            raise errors[0] from None
        raise
    finally:
        if connection is None:
            used.close()


def read_parquet(
    paths: Path | Sequence[Path], connection: DuckDBPyConnection, name: str | None = None
) -> DuckDBPyRelation:
    """Read one file, or several of one schema in the given order, as one lazy relation.

    The relation keeps the files open: files that replace them later do not change its rows.
    """
    files = [paths] if isinstance(paths, Path) else list(paths)
    name = files[0].name if name is None else name
    with redact_engine_errors(f"{name} could not be read"), ExitStack() as opened:
        # DuckDB opens a path several times: if the file is replaced in between, it would read rows
        # of the new file by the index of the old one. An open file handle stays the same file.
        handles = [opened.enter_context(file.open("rb")).fileno() for file in files]
        scans = [_scan([handle], connection) for handle in handles]
        schemas = [(scan.columns, scan.types) for scan in scans]
        different = sum(schema != schemas[0] for schema in schemas)
        if different:
            raise MalformedInputError(
                f"the files of {name} must have the same columns and types; {different} of "
                f"{len(files)} differ from the first. Materialize the older ones again."
            )
        relation = _scan(handles, connection)
        # A registered table lives as long as the database, and so as long as all its results:
        # the files are closed when it is deleted.
        pin = pa.table({"handle": handles})
        connection.register(f"open_{token_hex(8)}", pin)
        weakref.finalize(pin, opened.pop_all().close)
        return relation


def _scan(handles: list[int], connection: DuckDBPyConnection) -> DuckDBPyRelation:
    files = [f"/dev/fd/{handle}" for handle in handles]
    return connection.read_parquet(files, hive_partitioning=False, union_by_name=False)


def _replace(relation: DuckDBPyRelation, path: Path, mode: int, metadata: Mapping[str, str]) -> int:
    """Write the file atomically; return the number of rows."""
    pairs = ", ".join(f"{_literal(key)}: {_literal(text)}" for key, text in metadata.items())
    footer = f", KV_METADATA {{{pairs}}}" if pairs else ""
    with atomic_write(path, mode) as file:
        # USE_TMP_FILE false: DuckDB's own temporary file would not be private.
        relation.query(
            "written",
            f"COPY written TO {_literal(str(file))} (FORMAT parquet, COMPRESSION zstd, "
            f"COMPRESSION_LEVEL {LEVEL}, ROW_GROUP_SIZE {ROW_GROUP_SIZE}, USE_TMP_FILE false"
            f"{footer})",
        )
        return int(parquet.read_metadata(file).num_rows)


def _literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
