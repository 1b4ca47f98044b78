"""Load stored clusters as threads of `setanon_core`: words become integer codes."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.attributes.encode import AttributeColumn
from setanon_core.columns.arrays import Ints, Keys, offsets_of
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.build_threads import build_threads
from setanon_core.runtime.progress import report_progress
from setanon_dagster.stages.arrow import Int32Column, TextColumn
from setanon_dagster.stages.clusters import KEY_SIZES
from setanon_dagster.storage.attribute_columns import attributes_of, stage_column
from setanon_dagster.storage.batches import prefetch

StoredClusters: TypeAlias = pa.Table | DuckDBPyRelation
"""Clusters in memory, or a lazy relation."""

BATCH_THREADS: Final = 122_880
"""Threads read per batch."""

COLUMNS: Final = ("user", "words", "lengths", "name")
"""Columns to read, beside attributes; the core computes items and keys. Only baskets have names."""


def load_threads(clusters: StoredClusters, params: ReleaseParams) -> Threads:
    """Read the threads batch by batch.

    Complexity: memory is one string per distinct word and 4 bytes per typed word.
    """
    words, users = TextColumn(), TextColumn()
    query_lengths, query_counts = Int32Column(), Int32Column()
    values = AttributeReader(stored_columns(clusters))
    names: list[str] = []
    total = row_count(clusters)
    for batch in prefetch(read_batches(clusters)):
        words.append(pc.list_flatten(batch.column("words")))
        query_lengths.append(pc.list_flatten(batch.column("lengths")).to_numpy())
        query_counts.append(pc.list_value_length(batch.column("lengths")).to_numpy())
        users.append(batch.column("user"))
        values.append(batch)
        if "name" in batch.schema.names:
            names += batch.column("name").to_pylist()
        report_progress("threads read back", len(query_counts.values), total)
    vocabulary, word_codes = words.encode_all()
    user_names, owners = users.encode_all()
    return build_threads(
        Queries(
            # int32 instead of the core's int64 halves the memory of the largest column.
            cast("Ints", word_codes),
            offsets_of(cast("Ints", query_lengths.values)),
            np.repeat(np.arange(len(owners)), query_counts.values),
        ),
        vocabulary,
        owners.astype(np.int64),
        user_names,
        names=names if "name" in stored_columns(clusters) else None,
        identity=params.identity,
        attributes=values.columns(),
    )


class AttributeReader:
    """Reads the attributes of threads, batch by batch."""

    def __init__(self, columns: Sequence[str]) -> None:
        """Read the attributes among these columns."""
        self._names = attributes_of(columns)
        self._texts = {name: TextColumn() for name in self._names}
        self._counts = {name: Int32Column() for name in self._names}

    def append(self, batch: pa.RecordBatch) -> None:
        """Add the next threads."""
        for name in self._names:
            column = batch.column(stage_column(name))
            self._texts[name].append(pc.list_flatten(column))
            self._counts[name].append(pc.fill_null(pc.list_value_length(column), 0).to_numpy())

    def columns(self) -> dict[str, AttributeColumn]:
        """Threads and values of each attribute. Empties the reader."""
        columns = {}
        for name in self._names:
            texts, values = self._texts[name].encode_all()
            counts = self._counts[name].values
            threads = np.repeat(np.arange(len(counts)), counts)
            columns[name] = AttributeColumn(threads, cast("Ints", values), texts)
        return columns


def load_keys(clusters: StoredClusters, params: ReleaseParams) -> Keys | None:
    """The stored cluster key of each thread for p Min-Hashes; None if the method has none."""
    if params.method == "best":
        return None
    table = clusters if isinstance(clusters, pa.Table) else clusters.select("keys").to_arrow_table()
    keys: Keys = pc.list_element(table["keys"], KEY_SIZES.index(params.p)).to_numpy()
    return keys


def stored_columns(clusters: StoredClusters, names: Sequence[str] = COLUMNS) -> list[str]:
    """The columns of these names, and those of attributes, that there are."""
    stored: list[str] = (
        clusters.column_names if isinstance(clusters, pa.Table) else clusters.columns
    )
    wanted = (*names, *map(stage_column, attributes_of(stored)))
    return [name for name in wanted if name in stored]


def row_count(clusters: StoredClusters) -> int:
    """The number of threads."""
    if isinstance(clusters, pa.Table):
        return len(clusters)
    return int(clusters.aggregate("count(*)").fetchall()[0][0])


def read_batches(
    clusters: StoredClusters, names: Sequence[str] = COLUMNS
) -> Iterator[pa.RecordBatch]:
    """Batches of the columns of these names that there are, in thread order."""
    columns = stored_columns(clusters, names)
    if isinstance(clusters, pa.Table):
        yield from clusters.select(columns).to_batches(BATCH_THREADS)
    else:
        quoted = ", ".join(f'"{name}"' for name in columns)
        yield from clusters.select(quoted).to_arrow_reader(BATCH_THREADS)
