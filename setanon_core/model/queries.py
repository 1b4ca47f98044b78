"""Queries of threads as columns, with their keywords and records."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    inverse_permutation,
    offsets_of,
    rows_of,
)
from setanon_core.columns.records import Records


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries of threads as columns: `words` are item numbers in the order typed.

    Query q has `words[offsets[q]:offsets[q + 1]]` and belongs to `threads[q]`. The queries of a
    thread stand in the order in which they were typed.
    """

    words: Ints
    offsets: Ints
    threads: Ints

    @property
    def rows(self) -> Ints:
        """The query of each word."""
        return rows_of(self.offsets, len(self.words))

    def take(self, positions: Ints) -> "Queries":
        """The queries at `positions`, in that order."""
        sizes = np.diff(self.offsets)[positions]
        words = self.words[concat_ranges(self.offsets[:-1][positions], sizes)]
        return Queries(words, offsets_of(sizes), self.threads[positions])

    def lists(self) -> Iterator[tuple[int, list[int]]]:
        """The thread and the words of every query."""
        words, bounds = self.words.tolist(), self.offsets.tolist()
        for thread, low, high in zip(self.threads.tolist(), bounds[:-1], bounds[1:], strict=True):
            yield thread, words[low:high]


def concat_queries(parts: Sequence[Queries]) -> Queries:
    """Queries one after the other."""
    none = np.empty(0, np.int64)
    words = np.concatenate([part.words for part in parts] or [none])
    sizes = np.concatenate([np.diff(part.offsets) for part in parts] or [none])
    threads = np.concatenate([part.threads for part in parts] or [none])
    return Queries(words, offsets_of(sizes), threads)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keywords:
    """The vocabulary: for each keyword its spelling, its item, and how many users typed it."""

    vocabulary: Sequence[str]
    item: Ints
    held: Ints

    @property
    def item_held(self) -> Ints:
        """Owners of each item: those of its most typed keyword, since one is published for all."""
        most = np.zeros(int(self.item.max(initial=-1)) + 1, np.int64)
        np.maximum.at(most, self.item, self.held)
        return most


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Threads:
    """Threads of many users: their queries as typed, and their records as sets of items."""

    typed: Queries
    """Keyword numbers in the order typed; a thread's queries in the order of their times."""

    keywords: Keywords
    records: Records
    """One for each thread, with the number of its user."""

    users: Sequence[Hashable]
    """The names behind the users' numbers."""

    names: Sequence[str] | None = None
    """What names each thread, and nothing else; if none are given, its user and its place."""

    def line(self) -> Ints:
        """The threads by name, or by user and place: wherever the users' rows stood."""
        if self.names is not None:
            return np.asarray(_sorted(self.names), np.int64)
        rank = inverse_permutation(_sorted(list(map(str, self.users))))
        return np.argsort(rank[self.records.users], kind="stable")


def _sorted(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)
