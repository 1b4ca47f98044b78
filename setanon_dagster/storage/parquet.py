"""Whole tables in Parquet files: written by DuckDB to a temporary name, then renamed.

A reader finds the old file or the new one, never half of one; the same rows give the same bytes.
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
from setanon_dagster.storage.column_types import as_relation, with_declared_types
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors

ROW_GROUP_SIZE: Final = 122_880
"""Rows; DuckDB's default of today, pinned because the bytes of a file depend on it."""

PUBLISHED_LEVEL: Final = 3
"""Of zstd; its default of today, pinned for the same reason."""

FAST_LEVEL: Final = 1
"""The level for what lies between two stages: an eighth larger, in two thirds of the time."""


def write_parquet(  # noqa: PLR0913 - two things to say; the rest has one default each
    data: object,
    path: Path,
    *,
    order_by: str | None = None,
    mode: int = 0o600,
    types: Mapping[str, str] | None = None,
    name: str | None = None,
    connection: DuckDBPyConnection | None = None,
    candid: bool = False,
    level: int = PUBLISHED_LEVEL,
) -> int:
    """Write a relation, an Arrow table or reader, or a pandas frame; return the rows written.

    `types` has DuckDB types for columns whose values do not tell theirs; `name` is what errors
    call the table. Data that is no relation goes through `connection`, or a new one. If `candid`,
    what making the rows raises comes through as it is, and may quote them. `level` is zstd's.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_parquet(pa.table({"line": [2, 1]}), Path(folder) / "t.parquet", order_by="line")
    2
    """
    name = path.name if name is None else name
    engine = connect() if connection is None else connection
    raised: list[BaseException] = []
    try:
        with redact_engine_errors(
            f"{name} could not be written; the file it had, if any, is whole"
        ):
            relation = with_declared_types(
                as_relation(data, name, engine, ROW_GROUP_SIZE, raised), types or {}, name, engine
            )
            ordered = relation if order_by is None else relation.order(order_by)
            return _replace(ordered, path, mode, level)
    except SetanonError:
        # Whoever makes the rows knows better what went wrong; Ctrl-C is no error of theirs.
        if raised and (candid or isinstance(raised[0], SetanonError | KeyboardInterrupt)):
            raise raised[0] from None
        raise
    finally:
        if connection is None:
            engine.close()


def read_parquet(
    paths: Path | Sequence[Path], connection: DuckDBPyConnection, name: str | None = None
) -> DuckDBPyRelation:
    """Read one file, or several of one schema in the order given, as one lazy relation.

    It goes on reading the files as they are now, whatever replaces them meanwhile.
    """
    files = [paths] if isinstance(paths, Path) else list(paths)
    name = files[0].name if name is None else name
    with redact_engine_errors(f"{name} could not be read"), ExitStack() as opened:
        # DuckDB opens a path more than once: between, another run may put a new file there, and
        # the new rows were then read by the old index. What is open stays the file it was.
        handles = [opened.enter_context(file.open("rb")).fileno() for file in files]
        scans = [_scan([handle], connection) for handle in handles]
        schemas = [(scan.columns, scan.types) for scan in scans]
        odd = sum(schema != schemas[0] for schema in schemas)
        if odd:
            raise MalformedInputError(
                f"the files of {name} must have the same columns and types to be read as one; "
                f"{odd} of {len(files)} differ from the first. Materialize the older ones again."
            )
        relation = _scan(handles, connection)
        # What is registered lives as long as the database, and so as every result of it.
        pin = pa.table({"handle": handles})
        connection.register(f"open_{token_hex(8)}", pin)
        weakref.finalize(pin, opened.pop_all().close)
        return relation


def _scan(handles: list[int], connection: DuckDBPyConnection) -> DuckDBPyRelation:
    files = [f"/dev/fd/{handle}" for handle in handles]
    return connection.read_parquet(files, hive_partitioning=False, union_by_name=False)


def _replace(relation: DuckDBPyRelation, path: Path, mode: int, level: int) -> int:
    """Write the file whole, or leave the one that is there."""
    with atomic_write(path, mode) as file:
        literal = str(file).replace("'", "''")
        # Without a file of its own: into the one that is lent, which is private.
        relation.query(
            "written",
            f"COPY written TO '{literal}' (FORMAT parquet, COMPRESSION zstd, "
            f"COMPRESSION_LEVEL {level}, ROW_GROUP_SIZE {ROW_GROUP_SIZE}, USE_TMP_FILE false)",
        )
        return int(parquet.read_metadata(file).num_rows)
