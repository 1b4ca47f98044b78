"""`QueryLists`: many lists of query numbers as two integer columns."""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    dense_ranks,
    earlier_occurrences,
    first_positions,
    offsets_of,
    sorted_unique,
)
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.model.queries import Queries


@dataclass(frozen=True, slots=True, eq=False)
class QueryLists:
    """List i has the queries `queries[offsets[i]:offsets[i + 1]]`, as numbers, in their order."""

    queries: Ints
    offsets: Ints

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"QueryLists({len(self)} lists, {len(self.queries)} queries)"

    def __len__(self) -> int:
        """The number of lists."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """The number of queries of each list."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """The list of each query."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def take(self, positions: Ints) -> "QueryLists":
        """The lists at `positions`, in that order."""
        sizes = self.sizes[positions]
        queries = self.queries[concat_ranges(self.offsets[:-1][positions], sizes)]
        return QueryLists(queries, offsets_of(sizes))

    def append(self, other: "QueryLists") -> "QueryLists":
        """The lists of both, in that order."""
        sizes = np.append(self.sizes, other.sizes)
        return QueryLists(np.append(self.queries, other.queries), offsets_of(sizes))

    def ranks(self) -> Ints:
        """The number of each list: equal lists have equal numbers."""
        return sequence_ranks(self.queries, self.offsets)

    def repetitions(self) -> Ints:
        """For each query of a list, how often the list has it before."""
        width = int(self.queries.max(initial=0)) + 1
        return earlier_occurrences(self.rows * width + self.queries)


def sequence_ranks(numbers: Ints, offsets: Ints) -> Ints:
    """Rank of each sequence among the distinct ones, by length, then by numbers; equal ones tie."""
    # `Sets.ranks` compares the items in their order; it does not require that they ascend.
    return Sets.unchecked(items=numbers, offsets=offsets).ranks


def number_queries(queries: Queries, n: int) -> tuple[QueryLists, Queries]:
    """The list of each of n threads, and the distinct queries by their numbers."""
    if (np.diff(queries.threads) < 0).any():
        queries = queries.take(np.argsort(queries.threads, kind="stable"))
    number = sequence_ranks(queries.words, queries.offsets)
    sizes = np.bincount(queries.threads, minlength=n)
    return QueryLists(number, offsets_of(sizes)), queries.take(first_positions(number))


def count_common_queries(first: QueryLists, second: QueryLists) -> int:
    """The number of queries that list i of both have in common, summed over i.

    A query that both repeat counts as often as both have it.

    >>> first = QueryLists(np.array([4, 4, 7]), np.array([0, 3]))
    >>> count_common_queries(first, QueryLists(np.array([4, 9, 4, 4]), np.array([0, 4])))
    2
    """
    both = first.append(second)
    row = np.append(first.rows, second.rows)
    repetition = np.append(first.repetitions(), second.repetitions())
    width = int(both.queries.max(initial=0)) + 1
    cells = dense_ranks(row * width + both.queries)[0] * (int(repetition.max(initial=0)) + 1)
    return len(both.queries) - len(sorted_unique(cells + repetition))


def count_sharing_users(labels: Ints, lists: Ints, users: Ints) -> Ints:
    """For each thread, the number of users of its group who have its list."""
    width = int(lists.max(initial=0)) + 1
    return user_ranks(dense_ranks(labels * width + lists)[0], users)[1]
