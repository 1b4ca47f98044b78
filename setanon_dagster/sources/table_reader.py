"""Read a table of a DuckDB file, or a Parquet file, in batches of cells."""

# ruff: noqa: S608 - names are quoted, and the rest are constants of this package

from collections.abc import Iterator
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from setanon_core.errors import MalformedInputError
from setanon_dagster.sources.cell_batch import (
    CellBatch,
    missing_columns,
    names_any_column,
    positions_by_name,
)
from setanon_dagster.sources.source import Source
from setanon_dagster.sources.times import UTC, local_to_utc

BATCH_ROWS: Final = 100_000
"""Rows in memory at once."""

NESTED: Final = {"array", "blob", "list", "map", "struct", "union", "variant"}


def table_batches(
    source: Source,
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    line: int,
    *,
    timezone: str = UTC,
) -> Iterator[CellBatch]:
    """Yield the batches of `rows`, a table name or a table function; its first row is `line`."""
    empty = connection.sql(f"SELECT * FROM {rows} LIMIT 0")
    types = dict(zip(empty.columns, empty.types, strict=True))
    positions = positions_by_name(source, empty.columns)
    if positions is None:
        if _are_names(source, empty.columns):
            raise missing_columns(source, "in the table,", names=empty.columns)
        raise missing_columns(source, f"the table has {len(types)} columns")
    selected = [empty.columns[position] for position in positions]
    nested = sum(types[name].id in NESTED for name in selected)
    if nested:
        raise MalformedInputError(
            "the selected columns must have text, numbers or times, one value per row; "
            f"{nested} of them have nested or binary types. Select others, or cast them in a view."
        )
    cells = [
        _time_sql(name, str(types[name]), timezone)
        if source.kind == "log" and index == 1
        else _cell_sql(name, str(types[name]))
        for index, name in enumerate(selected)
    ]
    names = [f"c{number}" for number in range(len(cells))]
    texts = ", ".join(f"CAST({name} AS VARCHAR)" for name in names)
    query = (
        f"SELECT CASE WHEN contains(concat({texts}), chr(0)) THEN 'encoding' END AS reason, * FROM "
        f"(SELECT {', '.join(map(' AS '.join, zip(cells, names, strict=True)))} FROM {rows})"
    )
    for batch in connection.sql(query).to_arrow_reader(BATCH_ROWS):
        count = len(batch)
        numbers = pa.array(np.arange(line, line + count, dtype=np.int64))
        table = pa.Table.from_batches([batch]).add_column(0, "line", numbers)
        yield CellBatch(table, count, 0, count)
        line += count


def _are_names(source: Source, names: list[str]) -> bool:
    """Whether these are names: a table made from a file without a header has a row as names.

    A row of a log has a time, and every time has digits.
    """
    no_digits = not any(character.isdigit() for name in names for character in name)
    return names_any_column(source, names) or (source.kind == "log" and no_digits)


def quote_identifier(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _time_sql(name: str, column_type: str, timezone: str) -> str:
    """SQL for the time column: as a UTC timestamp if it has such a type, otherwise as text."""
    column = quote_identifier(name)
    if column_type == "TIMESTAMP WITH TIME ZONE":
        moment = f"make_timestamp(epoch_us({column}))"
    elif column_type.startswith(("TIMESTAMP", "DATE")):
        moment = local_to_utc(f"CAST({column} AS TIMESTAMP)", timezone)
    else:
        return _cell_sql(name, column_type)
    # Infinity has no microseconds; it must be rejected as unreadable, not as missing.
    return f"CASE WHEN {column} IS NOT NULL THEN coalesce({moment}, 'infinity') END"


def _cell_sql(name: str, column_type: str) -> str:
    """SQL for a column as text."""
    column = quote_identifier(name)
    text = f"CAST({column} AS VARCHAR)"
    if column_type.startswith(("DOUBLE", "FLOAT", "DECIMAL")):
        # pandas stores integers with a missing value as floats: 7.0 and 7 must be one user.
        integer = f"TRY_CAST({column} AS HUGEINT)"
        text = (
            f"CASE WHEN isnan(CAST({column} AS DOUBLE)) THEN NULL "
            f"WHEN {column} = {integer} THEN CAST({integer} AS VARCHAR) "
            f"ELSE {text} END"
        )
    return text
