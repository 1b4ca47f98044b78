"""Sections 5.2 and 5.3 at scale: the places of the threads of a large log, stored in `clusters`.

`places` are the places of a thread, best first: it is grouped at the first one, and may visit the
others. `savings` is what it can save at each: the size of the largest frequent itemset that it has
there. -1 is the place of a thread that is published unchanged: enough users have its set.
A log of one place has place 0 for all threads.
"""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import offsets_of
from setanon_core.columns.narrow import narrow
from setanon_core.errors import MalformedInputError
from setanon_core.keywords.encode_threads import ThreadBatch
from setanon_core.keywords.identity import items_of
from setanon_core.params import ReleaseParams
from setanon_core.partition.place_records import Places, empty_places
from setanon_core.partition.place_threads import place_threads
from setanon_core.partition.plan import count_places
from setanon_core.runtime.column_files import StoredColumns, store_columns, use_column_folder
from setanon_core.runtime.progress import report_progress
from setanon_dagster import metadata_keys
from setanon_dagster.runtime.memory import trim_memory
from setanon_dagster.stages.arrow import TextColumn, list_column
from setanon_dagster.storage.batches import prefetch, reader_of_tables, rebatch
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet, write_parquet

if TYPE_CHECKING:
    from setanon_core.columns.arrays import Ints

PART_THREADS: Final = 245_760
"""Threads of a part of the plan: bounds memory."""

WRITTEN_THREADS: Final = 61_440
"""Threads that are written at once."""

COLUMNS: Final = {"places": pa.list_(pa.int16()), "savings": pa.list_(pa.int8())}

NOT_STORED: Final = np.int16(-2)
"""A place that is refused: in the file it is null."""

Clusters: TypeAlias = pa.Table | DuckDBPyRelation


def needs_plan(threads: int, params: ReleaseParams) -> bool:
    """Whether so many threads are grouped in several places."""
    return params.method == "best" and count_places(threads) > 1


def place_clusters(
    path: Path, params: ReleaseParams, folder: Path, memory_limit: str | None = None
) -> tuple[Path, int]:
    """Write the clusters of a file again, with the places of all threads; delete the first file.

    Return the path of the new file, which is in the private `folder`, and its number of rows.
    """
    target = folder / f"{token_hex(8)}.parquet"
    with connect(memory_limit, temp_folder=folder) as connection:
        clusters = read_parquet(path, connection)
        with use_column_folder(folder):
            # Complete before the file is written: DuckDB reads the tables in threads of its own,
            # which have no folder of columns.
            stored = _plan(clusters, params)
        trim_memory()
        tables = reader_of_tables(_schema(clusters), _with_places(clusters, stored))
        with connection.cursor() as cursor:
            rows = write_parquet(tables, target, connection=cursor)
    path.unlink()
    return target, rows


def place_table(clusters: pa.Table, params: ReleaseParams) -> pa.Table:
    """Clusters in memory with the places of all threads."""
    if not needs_plan(len(clusters), params):
        return clusters
    return pa.concat_tables(_with_places(clusters, _plan(clusters, params)))


def same_place(threads: int) -> list[pa.Array]:
    """The columns for so many threads of one place."""
    every = empty_places(threads)
    every.choices[:, 0] = 0
    return place_columns(every)


def place_columns(places: Places) -> list[pa.Array]:
    """Places and savings as lists: at least the place of the thread itself."""
    has_place = places.sizes > 0
    has_place[:, 0] = True
    rows, _ = np.nonzero(has_place)
    values = (pa.array(column[has_place]) for column in places)
    return [list_column(rows, len(has_place), each) for each in values]


def read_places(batch: pa.RecordBatch) -> Places:
    """The places of a batch of clusters; contradictory ones get a place that is refused."""
    types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
    # Other numbers would become places when they are narrowed: 65536 would be place 0.
    if any(types.get(name) != kind for name, kind in COLUMNS.items()):
        raise MalformedInputError(
            "clusters must have the columns places and savings, lists of 16 and 8 bit integers; it "
            "has not. Materialize clusters again."
        )
    lists = [batch.column(name) for name in COLUMNS]
    lengths, others = (pc.fill_null(pc.list_value_length(each), 0).to_numpy() for each in lists)
    result = empty_places(len(batch))
    usable = (lengths == others) & (lengths > 0) & (lengths <= result.choices.shape[1])
    result.choices[~usable, 0] = NOT_STORED
    column = np.arange(result.choices.shape[1])
    chosen = usable[:, None] & (column < lengths[:, None])
    places, savings = (pc.list_flatten(each.filter(pa.array(usable))) for each in lists)
    result.choices[chosen] = pc.fill_null(places, NOT_STORED).to_numpy()
    result.sizes[chosen] = pc.fill_null(savings, 0).to_numpy()
    return result


def place_counts(clusters: DuckDBPyRelation) -> dict[str, int | float]:
    """Counts of the places, by metadata key."""
    sizes = clusters.aggregate(
        "places[1] AS place, count(*) AS n, count(*) FILTER (len(places) > 1) AS several"
    )
    ((places, largest, placed, unchanged, several),) = sizes.aggregate(
        "count(*) FILTER (place >= 0), coalesce(max(n) FILTER (place >= 0), 0), "
        "coalesce(sum(n) FILTER (place >= 0), 0), coalesce(sum(n) FILTER (place < 0), 0), "
        "coalesce(sum(several), 0)"
    ).fetchall()
    return {
        metadata_keys.PLACES: places,
        metadata_keys.LARGEST_PLACE: largest,
        metadata_keys.LARGEST_TO_MEAN: round(largest * places / max(placed, 1), 3),
        metadata_keys.SEVERAL_PLACES: several,
        metadata_keys.UNCHANGED: unchanged,
    }


def _schema(clusters: DuckDBPyRelation) -> pa.Schema:
    schema = clusters.limit(0).to_arrow_table().schema
    for name, kind in COLUMNS.items():
        schema = schema.set(schema.get_field_index(name), pa.field(name, kind))
    return schema


def _plan(clusters: Clusters, params: ReleaseParams) -> list[StoredColumns]:
    """The places of the threads of each part."""
    # With one keyword per item, the items of a thread are its keywords.
    name = "items" if params.identity == "exact" else "words"
    words, users = TextColumn(), TextColumn()
    lengths: list[StoredColumns] = []
    threads = 0
    for batch in prefetch(_batches(clusters, PART_THREADS, "user", name)):
        words.append(pc.list_flatten(batch.column(name)))
        users.append(batch.column("user"))
        lengths.append(store_columns(pc.list_value_length(batch.column(name)).to_numpy()))
        threads += len(batch)
    _, of_batches = users.encode_sorted()
    owner = np.concatenate([np.empty(0, np.int32), *of_batches])
    vocabulary, codes = words.encode_sorted()
    texts = vocabulary if params.identity == "exact" else vocabulary.to_pylist()

    def batches() -> Iterator[ThreadBatch]:
        first = 0
        for words_of_part, stored in zip(codes, lengths, strict=True):
            offsets = offsets_of(stored.take()[0])
            stop = first + len(offsets) - 1
            yield ThreadBatch(first, stop, cast("Ints", words_of_part), offsets)
            first = stop
            report_progress("threads encoded", first, threads)

    item = items_of(texts, params.identity)
    placed = place_threads(batches(), item, narrow(owner, threads), params)
    return [store_columns(*part) for part in placed]


def _with_places(clusters: Clusters, stored: list[StoredColumns]) -> Iterator[pa.Table]:
    names = clusters.column_names if isinstance(clusters, pa.Table) else clusters.columns
    batches = _batches(clusters, WRITTEN_THREADS, *names)
    for batch, places in zip(batches, _slices(stored), strict=True):
        table = pa.Table.from_batches([batch])
        for name, column in zip(COLUMNS, place_columns(places), strict=True):
            table = table.set_column(table.schema.get_field_index(name), name, column)
        yield table


def _slices(stored: list[StoredColumns]) -> Iterator[Places]:
    """The places of `WRITTEN_THREADS` threads at a time, of which each part has a multiple."""
    for part in stored:
        choices, sizes = part.take()
        for low in range(0, len(choices), WRITTEN_THREADS):
            rows = slice(low, low + WRITTEN_THREADS)
            yield Places(choices[rows], sizes[rows])


def _batches(clusters: Clusters, size: int, *columns: str) -> Iterator[pa.RecordBatch]:
    """Batches of so many threads, in their order."""
    if isinstance(clusters, pa.Table):
        chosen = clusters.select(list(columns))
    else:
        quoted = ", ".join(f'"{name}"' for name in columns)
        chosen = clusters.select(quoted).to_arrow_reader(size)
    yield from rebatch(chosen, size)
