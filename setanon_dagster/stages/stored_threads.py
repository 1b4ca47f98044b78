"""The clusters as they are stored, back into the core's threads: numbers, and each word once."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import Ints, inverse_permutation, offsets_of
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.release_threads import threads_from
from setanon_core.runtime.progress import report_progress
from setanon_dagster.storage.prefetch import prefetch

StoredClusters: TypeAlias = pa.Table | DuckDBPyRelation
"""A table of clusters in memory, or one that is read as it is needed."""

BATCH: Final = 122_880
"""Threads that are read at once."""

COLUMNS: Final = ("user", "words", "lengths", "name")
"""What the core needs; items and keys it makes anew. Only baskets have names."""


def load_threads(clusters: StoredClusters, params: ReleaseParams) -> Threads:
    """The core's threads, from the table that keeps them.

    It is read batch by batch: a word is held once, and 32 bits for each time it was typed.
    """
    words, users = _Numbers(), _Numbers()
    lengths, queries = _Column(), _Column()
    names: list[str] = []
    total = _rows(clusters)
    for batch in prefetch(_batches(clusters)):
        words.add(pc.list_flatten(batch.column("words")))
        lengths.add(pc.list_flatten(batch.column("lengths")).to_numpy())
        queries.add(pc.list_value_length(batch.column("lengths")).to_numpy())
        users.add(batch.column("user"))
        if "name" in batch.schema.names:
            names += batch.column("name").to_pylist()
        report_progress("threads read back", len(queries.values), total)
    vocabulary, typed = words.in_order()
    holders, owner = users.in_order()
    return threads_from(
        Queries(
            # The core computes with 64 bits; of words there are many, and it does not mind.
            cast("Ints", typed),
            offsets_of(cast("Ints", lengths.values)),
            np.repeat(np.arange(len(owner)), queries.values),
        ),
        vocabulary,
        owner.astype(np.int64),
        holders,
        names=names if "name" in _columns(clusters) else None,
        identity=params.identity,
    )


def _columns(clusters: StoredClusters) -> list[str]:
    seen: list[str] = clusters.column_names if isinstance(clusters, pa.Table) else clusters.columns
    return [name for name in COLUMNS if name in seen]


def _rows(clusters: StoredClusters) -> int:
    if isinstance(clusters, pa.Table):
        return len(clusters)
    return int(clusters.aggregate("count(*)").fetchall()[0][0])


def _batches(clusters: StoredClusters) -> Iterator[pa.RecordBatch]:
    """Batches of the columns that are needed, in the order of the threads."""
    columns = _columns(clusters)
    if isinstance(clusters, pa.Table):
        yield from clusters.select(columns).to_batches(BATCH)
    else:
        chosen = ", ".join(f'"{name}"' for name in columns)
        yield from clusters.select(chosen).to_arrow_reader(BATCH)


class _Numbers:
    """Texts that come in batches, as numbers; a text is an object of Python's once, in the end."""

    def __init__(self) -> None:
        self.batches: list[pa.DictionaryArray] = []

    def add(self, column: pa.Array) -> None:
        """Take a batch: what is kept of it is each text once, and its number for each time."""
        self.batches.append(column.dictionary_encode())

    def in_order(self) -> tuple[list[str], npt.NDArray[np.int32]]:
        """The texts in order, and the place of each that came in this order."""
        encoded = pa.chunked_array(self.batches, pa.dictionary(pa.int32(), pa.string()))
        self.batches.clear()
        chunks = encoded.unify_dictionaries().chunks
        del encoded
        texts = chunks[0].dictionary if chunks else pa.array([], pa.string())
        order: Ints = pc.sort_indices(texts).to_numpy()
        place = inverse_permutation(order).astype(np.int32)
        numbers = np.empty(sum(map(len, chunks)), np.int32)
        end = len(numbers)
        while chunks:  # each is gone when the next one is looked at
            start = end - len(chunks[-1])
            np.take(place, chunks.pop().indices.to_numpy(), out=numbers[start:end])
            end = start
        return texts.take(pa.array(order)).to_pylist(), numbers


class _Column:
    """Numbers of 32 bits, of which more come; they grow in place."""

    def __init__(self) -> None:
        self.room: npt.NDArray[np.int32] = np.empty(1024, np.int32)
        self.size = 0

    def add(self, numbers: npt.NDArray[Any]) -> None:
        """Put these behind the others."""
        size = self.size + len(numbers)
        if size > len(self.room):
            # Not a copy where the system can move pages; nobody else holds the array.
            self.room.resize(size + size // 4, refcheck=False)
        self.room[self.size : size] = numbers
        self.size = size

    @property
    def values(self) -> npt.NDArray[np.int32]:
        """What is there."""
        return self.room[: self.size]
