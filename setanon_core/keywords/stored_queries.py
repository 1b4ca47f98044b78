"""The queries of a very large log in files, and the same queries sorted by batch of groups.

Guarantee:  every query of a published thread is in the batch of its group, once; the threads of a
            batch are ordered by label, then by number.
Complexity: each word is read and written twice; memory for one part, or one batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of
from setanon_core.columns.narrow import narrow, narrow_column
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Queries
from setanon_core.runtime.column_files import (
    StoredColumns,
    StoredRows,
    column_folder,
    new_path,
    store_columns,
    store_rows,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryColumns:
    """The queries of some threads: numbers of the threads, queries of each, words of each query."""

    threads: Ints
    counts: Ints
    lengths: Ints
    words: Ints

    def take(self, order: Ints) -> "QueryColumns":
        """The threads at these positions."""
        of_thread, of_query = offsets_of(self.counts), offsets_of(self.lengths)
        counts = self.counts[order]
        queries = concat_ranges(of_thread[:-1][order], counts)
        lengths = self.lengths[queries]
        words = self.words[concat_ranges(of_query[:-1][queries], lengths)]
        return QueryColumns(self.threads[order], counts, lengths, words)

    def queries(self) -> Queries:
        """These queries as the rows of `Queries`."""
        return Queries(self.words, offsets_of(self.lengths), np.repeat(self.threads, self.counts))


class StoredQueries:
    """Queries of all threads, stored in parts of consecutive threads; can be read once."""

    def __init__(self) -> None:
        """Start empty, in the current folder of columns."""
        self.n_words = 0
        self._folder = column_folder()
        self._parts: list[StoredColumns] = []
        self._words_per_thread: list[Ints] = []

    def append(self, counts: Ints, lengths: Ints, words: Ints) -> None:
        """Add the next threads: queries of each, words of each query, and the words."""
        self._parts.append(store_columns(counts, lengths, words))
        per_thread = np.diff(offsets_of(lengths)[offsets_of(counts)])
        self._words_per_thread.append(narrow(per_thread, len(words)))
        self.n_words += len(words)

    def parts(self) -> Iterator[QueryColumns]:
        """The parts, in thread order; each is deleted when it was read."""
        first = 0
        for stored in self._parts:
            counts, lengths, words = stored.take()
            threads = np.arange(first, first + len(counts))
            first += len(counts)
            yield QueryColumns(threads, counts, lengths, words)
        self._parts.clear()

    def batches(self, labels: Ints, batch_words: int) -> Iterator[Queries]:
        """The queries of published threads, in batches of complete groups by label."""
        # The appended value is at index -1: withdrawn threads are in no batch.
        batch_of_group = np.append(self._batch_of_group(labels, batch_words), WITHDRAWN)
        batches = int(batch_of_group.max()) + 1
        files = [
            _SortedPart(part, batch_of_group[labels[part.threads]], batches, new_path(self._folder))
            for part in self.parts()
        ]
        for batch in range(batches):
            columns = _concat([file.read(batch) for file in files])
            order = np.argsort(labels[columns.threads], kind="stable")
            if len(order):
                yield columns.take(order).queries()
        for file in files:
            file.delete()

    def _batch_of_group(self, labels: Ints, batch_words: int) -> Ints:
        """The batch of each group: the words of all groups before it, in batches."""
        words = np.zeros(int(labels.max(initial=WITHDRAWN)) + 2, np.int64)
        first = 0
        for per_thread in self._words_per_thread:
            np.add.at(words, labels[first : first + len(per_thread)] + 1, per_thread)
            first += len(per_thread)
        words = words[1:]
        return (np.cumsum(words) - words) // batch_words


class _SortedPart:
    """A part whose threads are sorted by batch; the columns of each batch are one range."""

    def __init__(self, part: QueryColumns, batch: Ints, batches: int, path: Path | None) -> None:
        order = np.argsort(batch, kind="stable")
        order = order[np.searchsorted(batch[order], 0) :]
        columns = part.take(order)
        threads = offsets_of(np.bincount(batch[order], minlength=batches))
        queries = offsets_of(columns.counts)[threads]
        words = offsets_of(columns.lengths)[queries]
        bounds = np.column_stack((threads, threads, queries, words))
        numbers = columns.threads, columns.counts, columns.lengths, columns.words
        blocks = [
            column[low:high]
            for lows, highs in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
            for column, low, high in zip(numbers, lows, highs, strict=True)
        ]
        flat = np.concatenate([narrow_column(0, 0), *blocks])
        self._file: StoredRows = store_rows(path, flat.astype(np.int32, copy=False))
        self._sizes = np.diff(bounds, axis=0)
        self._starts = offsets_of(self._sizes.sum(axis=1))

    def read(self, batch: int) -> QueryColumns:
        flat = self._file.read(int(self._starts[batch]), int(self._starts[batch + 1]))
        return QueryColumns(*np.split(flat, np.cumsum(self._sizes[batch])[:-1]))

    def delete(self) -> None:
        self._file.delete()


def _concat(parts: list[QueryColumns]) -> QueryColumns:
    names = ("threads", "counts", "lengths", "words")
    none = narrow_column(0, 0)
    return QueryColumns(
        *(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in names)
    )
