"""Streams of Arrow batches: cut to one size, so that what is made of them has the same bytes."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain
from typing import Any, Final, TypeVar

import pyarrow as pa

Each = TypeVar("Each")


def prefetch(pieces: Iterable[Each]) -> Iterator[Each]:
    """The same pieces; while one is used, another thread makes the next.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    coming = iter(pieces)
    told = copy_context()  # who listens to reports listens in the other thread, too

    def following() -> Any:  # noqa: ANN401 - a piece, or the end
        return told.run(lambda: next(coming, _END))

    with ThreadPoolExecutor(1) as pool:
        piece = pool.submit(following)
        while (made := piece.result()) is not _END:
            piece = pool.submit(following)
            yield made


_END: Final[Any] = object()


def reader_of_tables(schema: pa.Schema, tables: Iterable[pa.Table]) -> pa.RecordBatchReader:
    """Tables that are made one by one, as a reader; each must have this schema."""
    batches = chain.from_iterable(table.cast(schema).to_batches() for table in tables)
    return pa.RecordBatchReader.from_batches(schema, batches)


def rebatch(
    data: pa.Table | pa.RecordBatchReader, size: int, raised: list[BaseException] | None = None
) -> pa.RecordBatchReader:
    """The same rows in batches of this size, whatever the size of those they came in.

    What making them raises is put into `raised`: an engine that reads them would keep the text
    of an error at most.

    >>> table = pa.table({"line": [1, 2, 3, 4, 5]})
    >>> [len(batch) for batch in rebatch(table, 2)]
    [2, 2, 1]
    """
    batches = data.to_batches() if isinstance(data, pa.Table) else data
    made = _heard(_whole(batches, data.schema, size), [] if raised is None else raised)
    return pa.RecordBatchReader.from_batches(data.schema, made)


def _heard(
    batches: Iterator[pa.RecordBatch], raised: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        raised.append(error)
        raise


def _whole(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int
) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        start = 0
        while rows + len(batch) - start >= size:
            taken = size - rows
            yield _one([*held, batch.slice(start, taken)], schema)
            held, rows, start = [], 0, start + taken
        if start < len(batch):
            held.append(batch.slice(start))
            rows += len(batch) - start
    if held:
        yield _one(held, schema)


def _one(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)
