"""Arrow record batches: rebatch to a fixed size, so that equal rows give equal bytes; prefetch."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain
from typing import Any, Final, TypeVar

import pyarrow as pa


def reader_of_tables(schema: pa.Schema, tables: Iterable[pa.Table]) -> pa.RecordBatchReader:
    """A lazy reader over tables; each table is cast to this schema when it is read."""
    batches = chain.from_iterable(table.cast(schema).to_batches() for table in tables)
    return pa.RecordBatchReader.from_batches(schema, batches)


def rebatch(
    data: pa.Table | pa.RecordBatchReader, size: int, errors: list[BaseException] | None = None
) -> pa.RecordBatchReader:
    """A reader over the rows of `data` in batches of `size` rows; the last may be smaller.

    Exceptions raised by the input are appended to `errors`: an engine that consumes the reader
    keeps at most their text.

    >>> table = pa.table({"line": [1, 2, 3, 4, 5]})
    >>> [len(batch) for batch in rebatch(table, 2)]
    [2, 2, 1]
    """
    batches = data.to_batches() if isinstance(data, pa.Table) else data
    resized = _resize(batches, data.schema, size)
    recorded = _record_errors(resized, [] if errors is None else errors)
    return pa.RecordBatchReader.from_batches(data.schema, recorded)


def _record_errors(
    batches: Iterator[pa.RecordBatch], errors: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except BaseException as error:
        errors.append(error)
        raise


def _resize(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int
) -> Iterator[pa.RecordBatch]:
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        start = 0
        while rows + len(batch) - start >= size:
            missing = size - rows
            yield _concat([*pending, batch.slice(start, missing)], schema)
            pending, rows, start = [], 0, start + missing
        if start < len(batch):
            pending.append(batch.slice(start))
            rows += len(batch) - start
    if pending:
        yield _concat(pending, schema)


def _concat(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.concat_batches(batches) if batches else pa.RecordBatch.from_pylist([], schema)


Value = TypeVar("Value")

_END: Final[Any] = object()


def prefetch(values: Iterable[Value]) -> Iterator[Value]:
    """Yield the values in order; while one is in use, a background worker computes the next.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    iterator = iter(values)
    context = copy_context()  # progress listeners are context variables: the worker needs them

    def compute_next() -> Any:  # noqa: ANN401 - a value, or _END
        return context.run(lambda: next(iterator, _END))

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(compute_next)
        while (value := future.result()) is not _END:
            future = pool.submit(compute_next)
            yield value
