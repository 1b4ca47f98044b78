"""Sections 4 and 5.4: group the threads, edit them, and write published rows and ledger."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.attributes.agree import agree_on_attributes
from setanon_core.columns.arrays import (
    Ints,
    earlier_occurrences,
    offsets_of,
    run_starts,
    sorted_unique,
)
from setanon_core.columns.narrow import narrow, widen
from setanon_core.columns.users import user_ranks
from setanon_core.edits import EditCounts, edit_batches
from setanon_core.keywords.stored_queries import StoredQueries
from setanon_core.model.attributes import Attributes
from setanon_core.model.groups import WITHDRAWN, Anonymized
from setanon_core.model.queries import Keywords, Queries
from setanon_core.params import ReleaseParams
from setanon_core.partition.parts import complete_groups
from setanon_core.partition.place_records import Places
from setanon_core.pipeline.build_release import edit_targets, edited_cost
from setanon_core.pipeline.group_records import anonymize_prepared
from setanon_core.pipeline.group_threads import cost_of_release, group_threads
from setanon_core.pipeline.prepare_records import prepare_records
from setanon_core.runtime.column_files import store_columns, use_column_folder
from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster.runtime.memory import MemoryTrimmer, trim_memory
from setanon_dagster.stages.arrow import list_column, text_array
from setanon_dagster.stages.cost_report import cost_table
from setanon_dagster.stages.load_large import load_large
from setanon_dagster.stages.load_threads import (
    StoredClusters,
    load_keys,
    load_threads,
    row_count,
)
from setanon_dagster.stages.place_clusters import needs_plan
from setanon_dagster.storage.batches import prefetch, reader_of_tables

TRIM_THREADS: Final = 1_000_000
"""Number of threads from which memory is trimmed after each step of the grouping."""

BATCH_THREADS: Final = 50_000
"""Threads written per batch."""

QUERY_COLUMNS: Final = {"position": pa.int64(), "query": pa.string()}
FORMAT_COLUMNS: Final = {
    "queries": QUERY_COLUMNS,
    "edited": QUERY_COLUMNS,
    "sets": {"keywords": pa.list_(pa.string())},
}
LEDGER: Final = pa.schema({"thread": pa.int64(), "user": pa.string()})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnonymizedClusters:
    """Threads to publish, the private ledger, the cost, and warnings."""

    threads: pa.RecordBatchReader
    """Rows ordered by group and thread number; the gate replaces the numbers by thread ids."""

    ledger: pa.RecordBatchReader
    cost: Callable[[], pa.Table]
    """Returns the cost; call it when all rows of `threads` were read."""

    warnings: tuple[str, ...]

    published: int
    """Number of published threads."""

    groups: int
    smallest_group: int
    """Number of users of the smallest group."""


def anonymize_clusters(
    clusters: StoredClusters, params: ReleaseParams, folder: Path | None = None
) -> AnonymizedClusters:
    """Group the threads and edit them to the centers of their groups.

    The rows are those of the core's `build_release`, with thread numbers in place of ids. They are
    edited while they are read, and can be read once.
    With a private `folder`, typed words are stored there while threads are grouped.
    """
    with use_column_folder(folder):
        if folder is not None and needs_plan(row_count(clusters), params):
            threads = _group_large(clusters, params)
        else:
            threads = _group_threads(clusters, params)
    rows, grouping = _EditedRows(threads, params), threads.grouping
    published = narrow(np.flatnonzero(grouping.labels != WITHDRAWN), len(grouping.labels))
    return AnonymizedClusters(
        threads=reader_of_tables(
            published_schema(params),
            prefetch(rows.tables()),
        ),
        ledger=reader_of_tables(LEDGER, prefetch(_ledger_rows(published, threads))),
        cost=rows.cost,
        warnings=(*grouping.warnings, *grouping.notes),
        published=len(published),
        groups=len(grouping.centers),
        smallest_group=smallest_group(grouping.labels, threads.owners),
    )


def published_schema(params: ReleaseParams) -> pa.Schema:
    """The columns of the published rows, with thread number and group in place of the thread id."""
    attributes = dict.fromkeys(params.attribute_names, pa.list_(pa.string()))
    columns = {"thread": pa.int64(), "group": pa.int64(), **FORMAT_COLUMNS[params.format]}
    return pa.schema(columns | attributes)


class _GroupedThreads(NamedTuple):
    """Threads with their groups: what is needed to edit and to publish them."""

    grouping: Anonymized
    typed: Queries | StoredQueries
    keywords: Keywords
    owners: Ints
    """The user number of each thread."""

    users: pa.Array
    """The user behind each user number."""

    n_keywords: int
    """Keywords of all threads."""

    attributes: Attributes | None


def _group_threads(clusters: StoredClusters, params: ReleaseParams) -> _GroupedThreads:
    """Load the threads, and group them with 64-bit columns in memory."""
    threads = load_threads(clusters, params)
    typed = store_columns(threads.typed.words, threads.typed.offsets, threads.typed.threads)
    empty = np.empty(0, np.int64)
    # Typed words are the larger half of the threads, and the grouping does not need them.
    threads = replace(threads, typed=Queries(empty, offsets_of(empty), empty))
    trim_memory()
    trims = len(threads.records) >= TRIM_THREADS
    with listen_to_progress(MemoryTrimmer()) if trims else nullcontext():
        grouping = group_threads(threads, params, load_keys(clusters, params))
    return _GroupedThreads(
        grouping,
        Queries(*typed.take()),
        threads.keywords,
        threads.records.users,
        pa.array(threads.users, pa.string()),
        len(threads.records.items),
        threads.attributes,
    )


def _group_large(clusters: StoredClusters, params: ReleaseParams) -> _GroupedThreads:
    """Load the threads into narrow columns and files, and group them place by place."""
    typed, keywords, records, users, stored, attributes = load_large(clusters, params)
    places = (Places(*part.take()) for part in stored)
    n_keywords = len(records.items)
    # The grouping numbers the users by itself; these numbers are needed after it.
    stored_owners = store_columns(records.users)
    trim_memory()
    prepared = prepare_records(records, params, keywords.item_owners)
    del records  # the prepared records replace them
    trim_memory()
    with listen_to_progress(MemoryTrimmer()):
        grouping = anonymize_prepared(prepared, params, stored=places)
    del prepared
    trim_memory()
    (owners,) = stored_owners.take()
    if attributes is not None:
        grouping = agree_on_attributes(grouping, attributes, owners)
    return _GroupedThreads(grouping, typed, keywords, owners, users, n_keywords, attributes)


def smallest_group(labels: Ints, users: Ints) -> int:
    """The number of users of the smallest group; 0 if there is no group."""
    sizes = [
        int(user_ranks(widen(labels[part]), widen(users[part]))[1].min())
        for part in complete_groups(labels)
    ]
    return min(sizes, default=0)


class _EditedRows:
    """Rows of the published threads, and the cost of the edits when all rows were made."""

    def __init__(self, threads: _GroupedThreads, params: ReleaseParams) -> None:
        self.threads, self.grouping, self.params = threads, threads.grouping, params
        self.counts = EditCounts()
        targets = edit_targets(threads.owners, threads.grouping, params)
        self.batches = edit_batches(threads.typed, threads.keywords, targets)

    def tables(self) -> Iterator[pa.Table]:
        """One row per query, or one row per thread with its keywords, in batches of groups."""
        labels = self.grouping.labels
        vocabulary = text_array(self.threads.keywords.vocabulary)
        for queries, counts in self.batches:
            self.counts = self.counts.plus(counts)
            # The queries of a thread are adjacent.
            starts = run_starts(queries.threads)
            if self.params.format == "sets":
                row_threads = queries.threads[starts]
                columns = _keyword_sets(queries, starts, vocabulary)
            else:
                row_threads = queries.threads
                columns = _query_texts(queries, vocabulary)
            groups = labels[row_threads]
            columns |= _attribute_lists(groups, self.threads)
            yield pa.table({"thread": row_threads, "group": groups, **columns})

    def cost(self) -> pa.Table:
        """The cost report of the rows that were made."""
        n_threads, n_keywords = len(self.grouping.labels), self.threads.n_keywords
        cost = cost_of_release(n_threads, n_keywords, self.grouping, self.counts.respellings)
        return cost_table([edited_cost(cost, self.params, self.counts)], self.params)


def _attribute_lists(groups: Ints, threads: _GroupedThreads) -> dict[str, object]:
    """For each attribute, the values of the group of each row."""
    attributes, values = threads.attributes, threads.grouping.attribute_values
    if attributes is None or values is None:
        return {}
    of_rows = values.take(groups)
    kinds, rows = attributes.attribute[of_rows.items], of_rows.rows
    columns: dict[str, object] = {}
    for kind, name in enumerate(attributes.names):
        first = int(np.searchsorted(attributes.attribute, kind))
        stop = int(np.searchsorted(attributes.attribute, kind, side="right"))
        texts = pa.array(attributes.texts[first:stop], pa.string())
        numbers = pa.array(of_rows.items[kinds == kind] - first)
        columns[name] = list_column(rows[kinds == kind], len(groups), texts.take(numbers))
    return columns


def _query_texts(queries: Queries, vocabulary: pa.Array) -> dict[str, object]:
    texts = vocabulary.take(pa.array(queries.words))
    words = list_column(queries.rows, len(queries.threads), texts)
    return {
        "position": earlier_occurrences(queries.threads),
        "query": pc.binary_join(words, " "),
    }


def _keyword_sets(
    queries: Queries, starts: npt.NDArray[np.bool_], vocabulary: pa.Array
) -> dict[str, object]:
    """The set of each thread; `starts` is true for the first query of a thread."""
    width = max(len(vocabulary), 1)
    threads = np.cumsum(starts) - 1
    # Codes are in keyword order, so sorted codes give sorted sets.
    cells = sorted_unique(threads[queries.rows] * width + queries.words)
    rows, words = np.divmod(cells, width)
    n = int(np.count_nonzero(starts))
    return {"keywords": list_column(rows, n, vocabulary.take(pa.array(words)))}


def _ledger_rows(published: Ints, threads: _GroupedThreads) -> Iterator[pa.Table]:
    """One row per published thread: its number and its user."""
    for start, stop in _batch_bounds(len(published)):
        numbers = published[start:stop]
        names = threads.users.take(pa.array(threads.owners[numbers]))
        yield pa.table([pa.array(numbers, pa.int64()), names], schema=LEDGER)


def _batch_bounds(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, BATCH_THREADS):
        yield start, min(start + BATCH_THREADS, n)
