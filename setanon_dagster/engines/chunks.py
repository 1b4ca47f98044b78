"""A sorted stream cut into chunks of whole groups, which travel between processes as files.

Pages of a file are written once and mapped by whoever reads them: no pipe copies them, no process
holds more of the stream than the batch that just came, and one group larger than the memory is a
longer file and nothing else.
"""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints
from setanon_core.errors import MalformedInputError


class Chunk(NamedTuple):
    """A file of whole groups, and how many rows it has."""

    path: Path
    rows: int


def cut_chunks(  # noqa: PLR0913 - a stream, and how to cut it
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    key: str,
    rows: int,
    folder: Path,
    *,
    longest: int | None = None,
) -> Generator[Chunk]:
    """Chunks of at least so many rows, but for the last; no group is in two of them.

    Unless it has more than the `longest` rows: then each that many rows count as a group.
    """
    number, file = 0, _Growing(folder / "0.arrow", schema)
    line = _Line(longest)
    try:
        for batch in batches:
            start = 0
            for place in line.begins(batch.column(key)).tolist():
                if file.rows + place - start >= rows:
                    file.add(batch.slice(start, place - start))
                    yield file.close()
                    number, start = number + 1, place
                    file = _Growing(folder / f"{number}.arrow", schema)
            file.add(batch.slice(start))
        if file.rows:
            yield file.close()
    finally:
        file.discard()


def process_chunk(function: Callable[[pa.Table], pa.Table], path: str) -> str:
    """Read a chunk, and write beside it what the function makes of it."""
    made = Path(path).with_suffix(".made")
    with pa.memory_map(path) as source:
        result = function(pa.ipc.open_stream(source).read_all())
    # Private, as its folder is.
    with pa.OSFile(str(made), "wb") as sink, pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    return str(made)


def take_result(made: str) -> pa.Table:
    """What was made, as long as somebody holds it; the file is gone already."""
    with pa.memory_map(made) as source:
        table = pa.ipc.open_stream(source).read_all()
    Path(made).unlink()
    return table


class _Line:
    """Where groups begin in a sorted column that comes in pieces."""

    def __init__(self, longest: int | None) -> None:
        self.longest = longest
        self.last: object = None
        self.length = 0
        """Rows of the last group so far; 0 before the first."""

    def begins(self, column: pa.Array) -> Ints:
        """Places in this piece at which a group begins, or a part of a long one."""
        if column.null_count:
            raise MalformedInputError(f"every row must have a key; {column.null_count} have none.")
        n = len(column)
        if not n:
            return np.empty(0, np.int64)
        new = np.ones(n, np.bool_)
        changes = pc.not_equal(column.slice(1), column.slice(0, n - 1))
        new[1:] = changes.to_numpy(zero_copy_only=False)
        new[0] = not self.length or column[0].as_py() != self.last
        row = np.arange(n)
        begun = np.maximum.accumulate(np.where(new, row, -1))
        place = np.where(begun >= 0, row - begun, row + self.length)
        self.last, self.length = column[-1].as_py(), int(place[-1]) + 1
        return np.flatnonzero(new if self.longest is None else place % self.longest == 0)


class _Growing:
    """A file to which batches are added."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self.rows = path, 0
        self.sink = pa.OSFile(str(path), "wb")
        self.writer = pa.ipc.new_stream(self.sink, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            # A slice is written as the rows that it has, not as the buffers that it is cut from.
            self.writer.write_batch(batch)
            self.rows += len(batch)

    def close(self) -> Chunk:
        self.writer.close()
        self.sink.close()
        return Chunk(self.path, self.rows)

    def discard(self) -> None:
        """Close it, and leave nothing that nobody has asked for."""
        if not self.sink.closed:
            self.close()
            self.path.unlink(missing_ok=True)
