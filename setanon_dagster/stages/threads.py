"""Section 5.1: the rows of a log to threads, one session after the other."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import earlier_occurrences
from setanon_core.params import ReleaseParams, SimilarityMeasure
from setanon_core.threads.separate import MAX_SESSION_QUERIES, separate_threads, time_order
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.stages.arrow import coded, numbered
from setanon_dagster.storage.batches import reader_of_tables

SCHEMA: Final = pa.schema(
    {
        "thread": pa.int64(),
        "user": pa.string(),
        "time": pa.timestamp("us"),
        "position": pa.int64(),
        "query": pa.string(),
    }
)

PIECE: Final = 122_880
"""Rows that are put together at once: of a long session, texts do not fit into one array."""


def threads_table(raw: pa.Table, params: ReleaseParams) -> pa.Table:
    """(user, time, query) in the order of lines, to threads in their order."""
    return separated(raw, params.measure)


def separated(raw: pa.Table, measure: SimilarityMeasure | None) -> pa.Table:
    """The same for whole sessions of a log, numbered from 0."""
    user, names = numbered(raw["user"])
    text, texts = coded(raw["query"])
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    thread = separate_threads(user, times, text, measure, texts=texts.to_pylist())
    line = time_order(user, times)
    order = line[np.argsort(thread[line], kind="stable")]
    position = earlier_occurrences(thread[order])
    made = []
    for start in range(0, len(order), PIECE):
        some = order[start : start + PIECE]
        columns = [
            thread[some],
            names.take(pa.array(user[some])),
            pa.array(times[some]).cast(SCHEMA.field("time").type),
            position[start : start + PIECE],
            texts.take(pa.array(text[some])),
        ]
        made.append(pa.table(columns, schema=SCHEMA))
    return pa.concat_tables(made) if made else SCHEMA.empty_table()


def threads_stream(
    engine: EmbeddedEngine, raw: DuckDBPyRelation, params: ReleaseParams
) -> pa.RecordBatchReader:
    """The same for a log of any size.

    Sessions are separated where there is room for them; threads are numbered by user, then by
    first query, as they come by.
    """
    own = engine.group_map(
        raw.select('"user", time, query, line'),
        "user",
        "time, line",
        partial(separated, measure=params.measure),
        SCHEMA,
        longest=MAX_SESSION_QUERIES,
        what="threads",
    )
    return reader_of_tables(SCHEMA, _numbered_on(own))


def _numbered_on(batches: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """Threads begin with their query at position 0, whatever numbers they had in their chunk."""
    number = -1
    for batch in batches:
        thread = number + np.cumsum(batch.column("position").to_numpy() == 0)
        number = int(thread[-1]) if len(thread) else number
        yield pa.Table.from_batches([batch]).set_column(0, "thread", [pa.array(thread)])
