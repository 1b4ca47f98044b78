"""The bytes of a published file, compared with those that DuckDB writes for its rows.

A Parquet file can contain data that no reader of its rows sees: values of a dictionary that no row
uses, bytes that no column refers to, statistics, names and metadata in its footer.

Guarantee:  a file whose bytes differ from those written for its rows, in the format of a release,
            is found. The comparison needs the version of DuckDB that wrote the file.
Complexity: one scan of the file, and a temporary copy of it.
"""
# ruff: noqa: S608 - statements are built from constants and from names of columns

from collections.abc import Sequence
from glob import escape
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import duckdb

from setanon_dagster.verifier.sql import execute, open_connection, query_rows

OPTIONS: Final = (
    "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880, "
    "USE_TMP_FILE false"
)
"""How a release is written; separate from the options of the gate, as are the columns."""

OPTIONAL: Final = {
    "thread_id": "nullif(thread_id, '')",
    "position": "nullif(position, -1)",
    "query": "nullif(query, '')",
    "keywords": "nullif(keywords, [])",
}
"""Expressions for the columns of a verified file that DuckDB does not know to be without nulls."""


def has_written_bytes(
    path: Path,
    attributes: Sequence[str] = (),
    *,
    memory: str | None = None,
    spill: Path | None = None,
) -> bool:
    """Whether a Parquet file, whose rows are those of a release, has the bytes written for them.

    The temporary copy is in `spill`, or in the system's temporary folder.
    """
    with (
        open_connection(None, memory, spill) as connection,
        TemporaryDirectory(prefix="setanon-", dir=spill) as folder,
    ):
        copy = Path(folder) / "copy.parquet"
        source, target = (_literal(name) for name in (escape(str(path)), str(copy)))
        types = query_rows(
            connection, f"SELECT name, repetition_type FROM parquet_schema({source})"
        )
        # DuckDB declares a column without nulls as required if it knows that there are none.
        # No verified list has an empty value.
        optional = OPTIONAL | {f'"{name}"': f"nullif(\"{name}\", [''])" for name in attributes}
        names = {name: name for name in OPTIONAL} | {name: f'"{name}"' for name in attributes}
        columns = (
            f"{optional[names[name]]} AS {names[name]}" if repetition == "OPTIONAL" else names[name]
            for name, repetition in types
            if name in names
        )
        rows = f"read_parquet({source}, hive_partitioning=false)"
        execute(
            connection, f"COPY (SELECT {', '.join(columns)} FROM {rows}) TO {target} ({OPTIONS})"
        )
        return _digest(copy) == _digest(path)


def duckdb_version() -> str:
    """The version of DuckDB that writes the copies."""
    return duckdb.__version__


def _literal(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return file_digest(file, "sha256").digest()
