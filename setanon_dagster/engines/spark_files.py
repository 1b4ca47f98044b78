"""Merge the Parquet files that Spark's executors wrote into the one file of a stage."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from setanon_dagster.engines.spark_types import view_as
from setanon_dagster.storage.batches import reader_of_tables
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import write_parquet


def merge_parts(parts: Path, schema: pa.Schema, path: Path, memory_limit: str) -> int:
    """Write the files of a folder in the order of their partitions; return the number of rows.

    The folder that contains `parts` must be private. Deletes each file when its rows were read.
    Without a limit, DuckDB's memory grows with the rows: 28 bytes per row were measured.
    """
    # The name of a part starts with the number of its partition, in a fixed width.
    files = sorted(parts.glob("part-*.parquet"), key=_part_number)
    tables = (view_as(table, schema) for table in _read_parts(files))
    with connect(memory_limit, temp_folder=parts.parent) as connection:
        return write_parquet(reader_of_tables(schema, tables), path, connection=connection)


def _part_number(path: Path) -> int:
    return int(path.name.split("-")[1])


def _read_parts(files: Iterable[Path]) -> Iterator[pa.Table]:
    for path in files:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches():
                yield pa.Table.from_batches([batch])
        path.unlink()
