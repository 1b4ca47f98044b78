"""Sections 4 and 5.4: group the threads, edit them, and write published rows and ledger."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import (
    Ints,
    earlier_occurrences,
    offsets_of,
    run_starts,
    sorted_unique,
)
from setanon_core.columns.users import user_ranks
from setanon_core.edits import EditCounts, edit_batches
from setanon_core.model.groups import WITHDRAWN, Anonymized
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.build_release import edit_targets, edited_cost
from setanon_core.pipeline.group_threads import group_threads
from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster.runtime.memory import MemoryTrimmer, trim_memory
from setanon_dagster.stages.arrow import list_column
from setanon_dagster.stages.cost_report import cost_table
from setanon_dagster.stages.load_threads import StoredClusters, load_keys, load_threads
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
    threads, restore_typed = _spill_typed(load_threads(clusters, params), folder)
    trim_memory()
    trims = len(threads.records) >= TRIM_THREADS
    with listen_to_progress(MemoryTrimmer()) if trims else nullcontext():
        grouping = group_threads(threads, params, load_keys(clusters, params))
    rows = _EditedRows(replace(threads, typed=restore_typed()), grouping, params)
    published = np.flatnonzero(grouping.labels != WITHDRAWN)
    owners = threads.records.users[published]
    groups = grouping.labels[published]
    return AnonymizedClusters(
        threads=reader_of_tables(
            pa.schema({"thread": pa.int64(), "group": pa.int64(), **FORMAT_COLUMNS[params.format]}),
            prefetch(rows.tables()),
        ),
        ledger=reader_of_tables(LEDGER, prefetch(_ledger_rows(published, owners, threads))),
        cost=rows.cost,
        warnings=(*grouping.warnings, *grouping.notes),
        published=len(published),
        groups=len(sorted_unique(groups)),
        smallest_group=count_smallest_group(groups, owners),
    )


def _spill_typed(threads: Threads, folder: Path | None) -> tuple[Threads, Callable[[], Queries]]:
    """Threads without their typed words, and a function that restores the words.

    Typed words are the larger half of the threads, and the grouping does not need them.
    """
    typed = threads.typed
    if folder is None:
        return threads, lambda: typed
    paths = {field.name: folder / f"{field.name}.npy" for field in fields(Queries)}
    for name, path in paths.items():
        np.save(path, getattr(typed, name))

    def restore() -> Queries:
        columns = {name: np.load(path) for name, path in paths.items()}
        for path in paths.values():
            path.unlink()
        return Queries(**columns)

    empty = np.empty(0, np.int64)
    return replace(threads, typed=Queries(empty, offsets_of(empty), empty)), restore


def count_smallest_group(groups: Ints, users: Ints) -> int:
    """The number of users of the smallest group; 0 if there is no group."""
    if not len(users):
        return 0
    return int(user_ranks(groups, users)[1].min())


class _EditedRows:
    """Rows of the published threads, and the cost of the edits when all rows were made."""

    def __init__(self, threads: Threads, grouping: Anonymized, params: ReleaseParams) -> None:
        self.threads, self.grouping, self.params = threads, grouping, params
        self.counts = EditCounts()
        targets = edit_targets(threads, grouping, params)
        self.batches = edit_batches(threads.typed, threads.keywords, targets)

    def tables(self) -> Iterator[pa.Table]:
        """One row per query, or one row per thread with its keywords, in batches of groups."""
        labels = self.grouping.labels
        vocabulary = pa.array(self.threads.keywords.vocabulary, pa.string())
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
            yield pa.table({"thread": row_threads, "group": labels[row_threads], **columns})

    def cost(self) -> pa.Table:
        """The cost report of the rows that were made."""
        cost = edited_cost(self.threads, self.grouping, self.params, self.counts)
        return cost_table([cost], self.params)


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


def _ledger_rows(published: Ints, owners: Ints, threads: Threads) -> Iterator[pa.Table]:
    """One row per published thread: its number and its user."""
    users = pa.array(threads.users, pa.string())
    for start, stop in _batch_bounds(len(published)):
        names = users.take(pa.array(owners[start:stop]))
        yield pa.table([published[start:stop], names], schema=LEDGER)


def _batch_bounds(n: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n, BATCH_THREADS):
        yield start, min(start + BATCH_THREADS, n)
