"""Section 5.1: separate the rows of a log into threads."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import earlier_occurrences
from setanon_core.params import ReleaseParams, SimilarityMeasure, Unit
from setanon_core.threads.separate import MAX_SESSION_QUERIES, separate_threads, time_order
from setanon_dagster import metadata_keys
from setanon_dagster.engines.protocol import Engine
from setanon_dagster.stages.arrow import encode, encode_sorted
from setanon_dagster.storage.attribute_columns import stage_column

SCHEMA: Final = pa.schema(
    {
        "thread": pa.int64(),
        "user": pa.string(),
        "time": pa.timestamp("us"),
        "position": pa.int64(),
        "query": pa.string(),
    }
)

BATCH_ROWS: Final = 122_880
"""Rows per batch: the texts of a long session may exceed the 2 GB of one Arrow array."""


def threads_table(raw: pa.Table, params: ReleaseParams) -> pa.Table:
    """Threads of a complete log (user, time, query), whose rows are in line order."""
    return separate(raw, params.measure, params.unit, params.attribute_names)


def threads_stream(engine: Engine, raw: Any, params: ReleaseParams) -> Any:  # noqa: ANN401
    """Threads of a log of any size, equal to `threads_table`, as a relation of the engine.

    Chunks of users are separated in parallel; threads are numbered by user, then by first query.
    """
    attributes = params.attribute_names
    columns = "".join(f", {stage_column(name)}" for name in attributes)
    separated = engine.group_map(
        engine.sql(f'SELECT "user", "time", query, line{columns} FROM raw_log', raw_log=raw),  # noqa: S608 - checked names
        "user",
        "time, line",
        partial(separate, measure=params.measure, unit=params.unit, attributes=attributes),
        threads_schema(attributes),
        max_group_rows=MAX_SESSION_QUERIES,
        step="threads",
    )
    # Numbers start at 0 in each call of the function; position 0 starts a thread.
    return engine.number_runs(separated, "thread", "position")


def thread_counts(threads: DuckDBPyRelation) -> dict[str, int | float]:
    """Counts of the threads, by metadata key."""
    ((queries, n_users, n_threads),) = threads.aggregate(
        'count(*), count(DISTINCT "user"), coalesce(max(thread) + 1, 0)'
    ).fetchall()
    return {
        metadata_keys.USERS: n_users,
        metadata_keys.THREADS: n_threads,
        metadata_keys.QUERIES_PER_THREAD: queries / max(n_threads, 1),
    }


def threads_schema(attributes: Sequence[str]) -> pa.Schema:
    """The columns of threads with these attributes; a row has one value of each, or none."""
    columns = [pa.field(stage_column(name), pa.string()) for name in attributes]
    return pa.schema([*SCHEMA, *columns])


def separate(
    raw: pa.Table, measure: SimilarityMeasure | None, unit: Unit, attributes: Sequence[str] = ()
) -> pa.Table:
    """Separate complete sessions into threads, numbered from 0 and ordered by number.

    With another unit, each session or each query takes the place of a thread.
    """
    schema = threads_schema(attributes)
    users, user_names = encode_sorted(raw["user"])
    texts, distinct_texts = encode(raw["query"])
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    threads = separate_threads(
        users, times, texts, measure, texts=distinct_texts.to_pylist(), unit=unit
    )
    by_time = time_order(users, times)
    order = by_time[np.argsort(threads[by_time], kind="stable")]
    position = earlier_occurrences(threads[order])
    tables = []
    for start in range(0, len(order), BATCH_ROWS):
        rows = order[start : start + BATCH_ROWS]
        columns = [
            threads[rows],
            user_names.take(pa.array(users[rows])),
            pa.array(times[rows]).cast(SCHEMA.field("time").type),
            position[start : start + BATCH_ROWS],
            distinct_texts.take(pa.array(texts[rows])),
            *(raw[stage_column(name)].take(pa.array(rows)) for name in attributes),
        ]
        tables.append(pa.table(columns, schema=schema))
    return pa.concat_tables(tables) if tables else schema.empty_table()
