"""Load the clusters of a very large log: typed words into files, items into narrow columns."""

from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.attributes.encode import encode_attributes
from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.narrow import narrow, narrow_records, number_by_appearance
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.keywords.encode_threads import (
    OwnerCounter,
    ThreadBatch,
    batch_sets,
    concat_batches,
)
from setanon_core.keywords.identity import items_of
from setanon_core.keywords.stored_queries import StoredQueries
from setanon_core.model.attributes import Attributes
from setanon_core.model.queries import Keywords
from setanon_core.params import ReleaseParams
from setanon_core.runtime.column_files import StoredColumns, store_columns
from setanon_core.runtime.progress import report_progress
from setanon_dagster.stages.arrow import TextColumn
from setanon_dagster.stages.load_threads import (
    COLUMNS,
    AttributeReader,
    StoredClusters,
    read_batches,
    row_count,
    stored_columns,
)
from setanon_dagster.stages.place_clusters import COLUMNS as PLACE_COLUMNS
from setanon_dagster.stages.place_clusters import read_places
from setanon_dagster.storage.batches import prefetch


class LargeThreads(NamedTuple):
    """The threads of a very large log; equal to `load_threads`, except where they are stored."""

    typed: StoredQueries
    keywords: Keywords
    records: Records
    """In narrow columns, without a vocabulary."""

    users: pa.Array
    """The user behind each user number."""

    places: list[StoredColumns]
    """The places of the threads of each batch."""

    attributes: Attributes | None


def load_large(clusters: StoredClusters, params: ReleaseParams) -> LargeThreads:
    """Read the threads batch by batch, then number words, items and users.

    Complexity: each word is written to a file twice; memory is that of the distinct words of all
    batches, of one batch, and 22 bytes per thread.
    """
    words, users = TextColumn(), TextColumn()
    lengths: list[StoredColumns] = []
    places: list[StoredColumns] = []
    values = AttributeReader(stored_columns(clusters))
    total = row_count(clusters)
    read = 0
    for batch in prefetch(read_batches(clusters, (*COLUMNS, *PLACE_COLUMNS))):
        words.append(pc.list_flatten(batch.column("words")))
        users.append(batch.column("user"))
        values.append(batch)
        counts = pc.list_value_length(batch.column("lengths")).to_numpy()
        places.append(store_columns(*read_places(batch)))
        lengths.append(store_columns(counts, pc.list_flatten(batch.column("lengths")).to_numpy()))
        read += len(counts)
        report_progress("threads read back", read, total)
    owner, names = _owners(users, total)
    vocabulary, codes = words.encode_sorted()
    texts = vocabulary.to_pylist() if params.identity != "exact" else vocabulary
    item = items_of(texts, params.identity)
    counter, typed, first = OwnerCounter(len(item), owner), StoredQueries(), 0
    parts: list[Sets] = []
    for codes_of_batch, stored in zip(codes, lengths, strict=True):
        word = cast("Ints", codes_of_batch)
        counts, words_of_query = stored.take()
        stop = first + len(counts)
        if stop > first:
            bounds = offsets_of(words_of_query)[offsets_of(counts)]
            batch_of_words = ThreadBatch(first, stop, word, bounds)
            counter.add(batch_of_words)
            parts.append(batch_sets(batch_of_words, item))
        typed.append(counts, words_of_query, word)
        first = stop
        report_progress("threads encoded", first, total)
    owners, sets = counter.finish(), concat_batches(parts)
    del counter
    users_of_threads = number_by_appearance(owner, len(names))
    codes_by_number = np.empty(len(names), np.int64)
    codes_by_number[users_of_threads] = owner
    records = narrow_records(Records.from_checked_sets(sets, users_of_threads))
    in_order = names.take(pa.array(codes_by_number))
    keywords = Keywords(vocabulary, item, owners)
    columns = values.columns()
    attributes = encode_attributes(columns, records.users) if columns else None
    return LargeThreads(typed, keywords, records, in_order, places, attributes)


def _owners(users: TextColumn, total: int) -> tuple[Ints, pa.Array]:
    """The code of each thread's user, and the users, which differ as texts."""
    names, batches = users.encode_sorted()
    owner, end = np.empty(total, np.int32), 0
    for codes in batches:
        owner[end : end + len(codes)] = codes
        end += len(codes)
    return narrow(owner, total), names
