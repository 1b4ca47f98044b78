"""Consecutive numbers of runs of rows, such as the threads of a log, over batches."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa


def number_runs(
    batches: Iterable[pa.RecordBatch], column: str, position: str, start: int = 0
) -> Iterator[pa.Table]:
    """Replace a column by the number of the run; a run starts at each row whose position is 0.

    `start`: the number of the first run.

    >>> batch = pa.record_batch({"thread": [7, 7, 0], "position": [0, 1, 0]})
    >>> next(number_runs([batch], "thread", "position", start=5))["thread"].to_pylist()
    [5, 5, 6]
    """
    last = start - 1
    for batch in batches:
        number = last + np.cumsum(batch.column(position).to_numpy() == 0)
        last = int(number[-1]) if len(number) else last
        table = pa.Table.from_batches([batch])
        index = table.schema.get_field_index(column)
        yield table.set_column(index, column, [pa.array(number)])
