"""Threads as columns: their queries, keywords and records."""

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
from setanon_core.model.attributes import Attributes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Queries:
    """Queries as columns: `words` are keyword or item numbers in the order typed.

    Query q has the words `words[offsets[q]:offsets[q + 1]]` and belongs to thread `threads[q]`.
    The queries of a thread are adjacent, in the order typed.
    """

    words: Ints
    offsets: Ints
    threads: Ints

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"Queries({len(self.threads)} queries, {len(self.words)} words)"

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
    """All queries of the parts, in that order."""
    empty = np.empty(0, np.int64)
    words = np.concatenate([part.words for part in parts] or [empty])
    sizes = np.concatenate([np.diff(part.offsets) for part in parts] or [empty])
    threads = np.concatenate([part.threads for part in parts] or [empty])
    return Queries(words, offsets_of(sizes), threads)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Keywords:
    """The vocabulary: for each keyword its text, its item, and how many users typed it."""

    vocabulary: Sequence[str]
    item: Ints
    owners: Ints

    def __repr__(self) -> str:
        """The number of keywords only: a traceback or a log must not show any data."""
        return f"Keywords({len(self.item)} keywords)"

    @property
    def item_owners(self) -> Ints:
        """Owners of each item: those of its keyword with most owners, which can be published."""
        most = np.zeros(int(self.item.max(initial=-1)) + 1, np.int64)
        np.maximum.at(most, self.item, self.owners)
        return most


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Threads:
    """Threads of many users: their queries as typed, and their records as sets of items."""

    typed: Queries
    """Keyword numbers in the order typed; a thread's queries in the order of their times."""

    keywords: Keywords
    records: Records
    """One record per thread, with the number of its user."""

    users: Sequence[Hashable]
    """The user behind each user number."""

    names: Sequence[str] | None = None
    """A unique name for each thread; without names, the user and the user's nth thread."""

    attributes: Attributes | None = None
    """What is published of each thread beside its keywords."""

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"Threads({len(self.records)} threads, {len(self.users)} users)"

    def canonical_order(self) -> Ints:
        """The threads sorted by name, or by user: independent of the order of the input rows."""
        if self.names is not None:
            return np.asarray(_argsort(self.names), np.int64)
        rank = inverse_permutation(_argsort(list(map(str, self.users))))
        return np.argsort(rank[self.records.users], kind="stable")


def _argsort(texts: Sequence[str]) -> list[int]:
    return sorted(range(len(texts)), key=texts.__getitem__)
