"""Cut a sorted stream into chunks of complete groups; chunks are exchanged as Arrow files.

Files are memory-mapped by the process that reads them: no pipe copies the data, no process holds
more of the stream than its current batch, and a group larger than memory is only a longer file.
"""

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints
from setanon_core.errors import MalformedInputError
from setanon_dagster.engines.group_counts import GroupCounts, count_groups
from setanon_dagster.engines.protocol import GroupFunction


class Chunk(NamedTuple):
    """An Arrow file of complete groups, and its number of rows."""

    path: Path
    rows: int


class Result(NamedTuple):
    """An Arrow file with the result of a function, and the counts of the rows it was given."""

    path: Path
    counts: GroupCounts


def cut_chunks(  # noqa: PLR0913 - a stream, and how to cut it
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    key: str,
    min_rows: int,
    folder: Path,
    *,
    max_group_rows: int | None = None,
) -> Generator[Chunk]:
    """Chunks of at least `min_rows` rows, except the last; no group is in two chunks.

    A group of more than `max_group_rows` rows is treated as several groups of that many rows.
    """
    number, file = 0, _ChunkWriter(folder / "0.arrow", schema)
    try:
        for piece, is_last in pieces_of_chunks(batches, key, min_rows, max_group_rows):
            file.add(piece)
            if is_last:
                yield file.close()
                number += 1
                file = _ChunkWriter(folder / f"{number}.arrow", schema)
        if file.rows:
            yield file.close()
    finally:
        file.discard()


def pieces_of_chunks(
    batches: Iterable[pa.RecordBatch], key: str, min_rows: int, max_group_rows: int | None = None
) -> Iterator[tuple[pa.RecordBatch, bool]]:
    """Slices of the batches, and for each whether it is the last of a chunk of complete groups."""
    boundaries = _GroupBoundaries(max_group_rows)
    rows = 0
    for batch in batches:
        start = 0
        for position in boundaries.starts(batch.column(key)).tolist():
            if rows + position - start >= min_rows:
                yield batch.slice(start, position - start), True
                rows, start = 0, position
        rows += len(batch) - start
        yield batch.slice(start), False


def process_chunk(function: GroupFunction, key: str, chunk: Chunk) -> Result:
    """Replace the file of a chunk by a file with the function's result."""
    output = chunk.path.with_suffix(".result")
    with pa.memory_map(str(chunk.path)) as source:
        table = pa.ipc.open_stream(source).read_all()
        result = function(table)
        counts = count_groups(table[key], len(result))
        del table
    with pa.OSFile(str(output), "wb") as sink, pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    chunk.path.unlink()
    return Result(output, counts)


def take_result(result: Result) -> pa.Table:
    """Map the file into memory and delete it; the mapping keeps the data readable."""
    with pa.memory_map(str(result.path)) as source:
        table = pa.ipc.open_stream(source).read_all()
    result.path.unlink()
    return table


class _GroupBoundaries:
    """Finds the first row of each group in a sorted column that is read in batches."""

    def __init__(self, max_group_rows: int | None) -> None:
        self.max_group_rows = max_group_rows
        self.last_key: object = None
        self.rows_so_far = 0
        """Rows of the last group in earlier batches; 0 before the first batch."""

    def starts(self, column: pa.Array) -> Ints:
        """Positions in this batch where a group, or a part of a long group, starts."""
        if column.null_count:
            raise MalformedInputError(f"every row must have a key; {column.null_count} have none.")
        n = len(column)
        if not n:
            return np.empty(0, np.int64)
        is_first = np.ones(n, np.bool_)
        changes = pc.not_equal(column.slice(1), column.slice(0, n - 1))
        is_first[1:] = changes.to_numpy(zero_copy_only=False)
        is_first[0] = not self.rows_so_far or column[0].as_py() != self.last_key
        row = np.arange(n)
        group_start = np.maximum.accumulate(np.where(is_first, row, -1))
        position = np.where(group_start >= 0, row - group_start, row + self.rows_so_far)
        self.last_key, self.rows_so_far = column[-1].as_py(), int(position[-1]) + 1
        if self.max_group_rows is None:
            return np.flatnonzero(is_first)
        return np.flatnonzero(position % self.max_group_rows == 0)


class _ChunkWriter:
    """An Arrow file to which batches are appended."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self.rows = path, 0
        self.sink = pa.OSFile(str(path), "wb")
        self.writer = pa.ipc.new_stream(self.sink, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            # Arrow writes only the rows of a slice, not its complete buffers.
            self.writer.write_batch(batch)
            self.rows += len(batch)

    def close(self) -> Chunk:
        self.writer.close()
        self.sink.close()
        return Chunk(self.path, self.rows)

    def discard(self) -> None:
        """Delete the file unless it was closed."""
        if not self.sink.closed:
            self.close()
            self.path.unlink(missing_ok=True)
