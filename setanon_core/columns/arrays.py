"""Functions on integer arrays: offsets, ranges, ranks, runs of equal values, hashing."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from setanon_core.errors import MalformedInputError

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
"""Half the memory of `Ints`, for very long columns; widen before arithmetic (overflow)."""

Bools = npt.NDArray[np.bool_]
Keys = npt.NDArray[np.uint64]
"""64-bit hash values."""

MARKED_FACTOR: Final = 16
"""Numbers below this many times the length of a column are marked in an array, others sorted."""


def integer_column(name: str, values: npt.ArrayLike) -> Ints:
    """Convert a one-dimensional column of integers to int64; refuse all other types.

    Floats are not rounded and strings are not parsed.
    """
    require_unmasked(name, values)
    column = np.asarray(values)
    if column.ndim != 1 or (len(column) and column.dtype.kind not in "iu"):
        raise MalformedInputError(
            f"{name} must be one column of integers; got {column.ndim} dimensions of "
            f"type {column.dtype}."
        )
    if len(column) and column.dtype == np.uint64 and column.max() > np.iinfo(np.int64).max:
        raise MalformedInputError(f"{name} must be below 2^63.")
    return column.astype(np.int64, copy=False)


def require_unmasked(name: str, values: object) -> None:
    """Refuse NumPy arrays with masked values: most functions ignore the mask."""
    masked = int(np.sum(values.mask)) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise MalformedInputError(
            f"no value of {name} may be masked; {masked} are. Leave these rows out."
        )


def offsets_of(sizes: Ints | Int32s | Bools) -> Ints:
    """Offsets of consecutive sets with these sizes.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate(([0], np.cumsum(sizes)))


def rows_of(offsets: Ints, occurrences: int) -> Ints:
    """Row number of each occurrence; refuses invalid offsets.

    >>> rows_of(np.array([0, 2, 2, 3]), 3).tolist()
    [0, 0, 2]
    """
    sizes = np.diff(offsets)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != occurrences or (sizes < 0).any():
        raise MalformedInputError(
            f"offsets must rise from 0 to the number of item occurrences ({occurrences}). "
            "Pass n + 1 offsets for n records."
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def concat_ranges(starts: Ints | Int32s, sizes: Ints | Int32s) -> Ints:
    """Concatenate the ranges that begin at `starts` and have these sizes.

    >>> concat_ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    return np.arange(sizes.sum()) + np.repeat(starts - offsets_of(sizes)[:-1], sizes)


def run_starts(*columns: npt.NDArray[Any]) -> Bools:
    """Whether each row differs from the previous row in any column; True for the first row.

    >>> run_starts(np.array([5, 5, 6]), np.array([1, 2, 2])).tolist()
    [True, True, True]
    """
    starts = np.ones(len(columns[0]), np.bool_)
    starts[1:] = False
    for column in columns:
        starts[1:] |= column[1:] != column[:-1]
    return starts


def sorted_unique(numbers: Ints) -> Ints:
    """Distinct numbers, ascending; faster than `np.unique`, which hashes."""
    ascending = np.sort(numbers)
    return ascending[run_starts(ascending)]


def count_distinct(numbers: Ints) -> int:
    """The number of distinct numbers; small numbers are marked in an array instead of sorted.

    >>> count_distinct(np.array([3, 1, 3])), count_distinct(np.array([-1, 10**15]))
    (2, 2)
    """
    if len(numbers) == 0 or numbers.min() < 0 or numbers.max() >= MARKED_FACTOR * len(numbers):
        return len(sorted_unique(numbers))
    seen = np.zeros(int(numbers.max()) + 1, np.bool_)
    seen[numbers] = True
    return int(np.count_nonzero(seen))


def first_positions(numbers: Ints) -> Ints:
    """Position of the first occurrence of each number; all of 0, 1, ..., max must occur.

    >>> first_positions(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    # Assigned in reverse order: the first occurrence is written last.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def inverse_permutation(order: Ints | list[int]) -> Ints:
    """Position of each number 0, ..., n - 1 in the permutation `order`.

    >>> inverse_permutation([2, 0, 1]).tolist()
    [1, 2, 0]
    """
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


def dense_ranks(numbers: Ints) -> tuple[Ints, int]:
    """Rank of each number among the distinct ones, from 0, and the count of distinct ones.

    >>> ranks, distinct = dense_ranks(np.array([7, 3, 7]))
    >>> ranks.tolist(), distinct
    ([1, 0, 1], 2)
    """
    order = np.argsort(numbers)
    starts = run_starts(numbers[order])
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.cumsum(starts) - 1
    return ranks, int(starts.sum())


def earlier_occurrences(*columns: Ints) -> Ints:
    """For each row, the number of earlier rows with equal values in all columns.

    >>> earlier_occurrences(np.array([5, 6, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.lexsort(columns[::-1])
    starts = run_starts(*(column[order] for column in columns))
    position = np.arange(len(order))
    earlier = np.empty(len(order), np.int64)
    earlier[order] = position - np.maximum.accumulate(np.where(starts, position, 0))
    return earlier


def mix64(numbers: Keys) -> Keys:
    """The finalizer of splitmix64: a bijection that distributes similar numbers evenly."""
    key = numbers ^ numbers >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return key
