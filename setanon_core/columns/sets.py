"""Many sets of item numbers in two columns, and the arithmetic of such columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from setanon_core.errors import MalformedInputError

Ints = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
"""Numbers of which there are very many: half as wide, in half the memory. Never to be multiplied.
"""

LIMIT: Final = 1 << 31
"""Items and users are numbered below this, so that a pair of them fits into 64 bits."""

BITS: Final = 63
"""Bits of a number that is not negative."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Many sets of item numbers in two columns: set i is `items[offsets[i]:offsets[i + 1]]`.

    Items ascend within each set; of very many sets they may be `Narrow`. The arrays are checked
    once, when made, and then read-only.
    """

    items: Ints
    offsets: Ints

    def __post_init__(self) -> None:
        """Check the invariants that every algorithm relies on, then freeze the arrays."""
        freeze(self, "items")
        freeze(self, "offsets")
        check_range("items", self.items)
        rows = rows_of(self.offsets, len(self.items))
        rising = (np.diff(self.items) > 0) | (np.diff(rows) > 0)
        if not rising.all():
            raise MalformedInputError(
                "items must ascend within each record. Use Records.from_columns, which sorts them."
            )

    @classmethod
    def unchecked(cls, **columns: Any) -> Self:  # noqa: ANN401 - the columns of any subclass
        """The same from columns that were made of checked ones, and that nobody will write to."""
        made = object.__new__(cls)
        for name, column in columns.items():
            if isinstance(column, np.ndarray):
                column.flags.writeable = False
            object.__setattr__(made, name, column)
        return made

    def __len__(self) -> int:
        """Return n, the number of sets."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints:
        """|S_i| for every set."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """The set that each item occurrence belongs to; quickly made, and too large to be kept."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def width(self) -> int:
        """One more than the largest item number seen: m, as far as these sets know."""
        return int(self.items.max()) + 1 if len(self.items) else 0

    def take(self, positions: Ints) -> "Sets":
        """The sets at `positions`, in that order."""
        sizes = self.sizes[positions]
        items = self.items[concat_ranges(self.offsets[:-1][positions], sizes)]
        return Sets.unchecked(items=items, offsets=offsets_of(sizes))

    def keep_items(self, keep: npt.NDArray[np.bool_]) -> "Sets":
        """The same sets without the item occurrences whose item is not in `keep`."""
        return self.only(keep[self.items])

    def only(self, kept: npt.NDArray[np.bool_]) -> "Sets":
        """The same sets without the item occurrences that are not to be kept."""
        sizes = np.bincount(self.rows[kept], minlength=len(self))
        return Sets.unchecked(items=self.items[kept], offsets=offsets_of(sizes))

    def masks(self) -> list[int]:
        """Every set as a Python integer with one bit per item: for small clusters."""
        masks = [0] * len(self)
        for row, item in zip(self.rows.tolist(), self.items.tolist(), strict=True):
            masks[row] |= 1 << item
        return masks

    @cached_property
    def ranks(self) -> Ints:
        """Number the distinct sets by size, then item by item; equal sets share a number."""
        ranks = np.empty(len(self), np.int64)
        bits = self.width.bit_length()
        first = 0
        for size in np.flatnonzero(np.bincount(self.sizes)).tolist():
            rows = np.flatnonzero(self.sizes == size)
            starts = self.offsets[rows]
            key, used = np.zeros(len(rows), np.int64), 0
            for place in range(size):
                # As many items as fit side by side are compared at once.
                if used + bits > BITS:
                    key, distinct = dense_ranks(key)
                    used = distinct.bit_length()
                key = key << bits | self.items[starts + place]
                used += bits
            key, distinct = dense_ranks(key)
            ranks[rows] = first + key
            first += distinct
        ranks.flags.writeable = False  # all that ask for them share them
        return ranks

    @cached_property
    def distinct(self) -> tuple[Ints, Ints, Ints]:
        """Where each distinct set stands first, how often it occurs, and every set's rank.

        >>> first, times, ranks = Sets(np.array([4, 2, 4]), np.array([0, 1, 2, 3])).distinct
        >>> first.tolist(), times.tolist(), ranks.tolist()
        ([1, 0], [1, 2], [1, 0, 1])
        """
        times = np.bincount(self.ranks)
        first = first_positions(self.ranks)
        first.flags.writeable = times.flags.writeable = False
        return first, times, self.ranks


def integer_column(name: str, values: npt.ArrayLike) -> Ints:
    """One column as 64-bit integers, if that is what it is; nothing is rounded or parsed."""
    column = np.asarray(values)
    if column.ndim != 1 or (len(column) and column.dtype.kind not in "iu"):
        raise MalformedInputError(
            f"{name} must be one column of integers; got {column.ndim} dimensions of "
            f"type {column.dtype}."
        )
    if len(column) and column.dtype == np.uint64 and column.max() > np.iinfo(np.int64).max:
        raise MalformedInputError(f"{name} must be below 2^63.")
    return column.astype(np.int64, copy=False)


def freeze(owner: "Sets", name: str) -> None:
    """Make one column of frozen sets a read-only array of 64-bit integers, of its own."""
    column = integer_column(name, getattr(owner, name))
    if column.flags.writeable:
        # Somebody else may hold it, or what it is a view of.
        column = column.copy()
        column.flags.writeable = False
    object.__setattr__(owner, name, column)


def check_range(name: str, numbers: Ints) -> None:
    """Refuse what is no number of an item or a user: pairs of them are coded as one integer."""
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= LIMIT):
        raise MalformedInputError(
            f"{name} must be numbers from 0 to {LIMIT - 1}. "
            "Use Records.from_columns, which numbers them."
        )


def offsets_of(sizes: Ints | Int32s) -> Ints:
    """Offsets of sets with these sizes."""
    return np.concatenate(([0], np.cumsum(sizes)))


def rows_of(offsets: Ints, occurrences: int) -> Ints:
    """The record of each occurrence, for offsets that nobody has checked yet."""
    sizes = np.diff(offsets)
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != occurrences or (sizes < 0).any():
        raise MalformedInputError(
            f"offsets must rise from 0 to the number of item occurrences ({occurrences}). "
            "Pass n + 1 offsets for n records."
        )
    return np.repeat(np.arange(len(sizes)), sizes)


def run_starts(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Where any column has another value than the row before; the first row is new."""
    new = np.ones(len(columns[0]), np.bool_)
    new[1:] = False
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    return new


def sorted_unique(numbers: Ints) -> Ints:
    """Each number once and in order: `np.unique` hashes, and is slower here."""
    line = np.sort(numbers)
    return line[run_starts(line)]


def first_positions(numbers: Ints) -> Ints:
    """Where each number, of all from 0 on, appears first.

    >>> first_positions(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    # Of several values for one place, the last stays.
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def inverse_order(order: Ints | list[int]) -> Ints:
    """Where each one stands in this order.

    >>> inverse_order([2, 0, 1]).tolist()
    [1, 2, 0]
    """
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def dense_ranks(numbers: Ints) -> tuple[Ints, int]:
    """The place of each number among the distinct ones, and how many these are.

    >>> places, distinct = dense_ranks(np.array([7, 3, 7]))
    >>> places.tolist(), distinct
    ([1, 0, 1], 2)
    """
    order = np.argsort(numbers)
    new = run_starts(numbers[order])
    places = np.empty(len(numbers), np.int64)
    places[order] = np.cumsum(new) - 1
    return places, int(new.sum())


def concat_ranges(starts: Ints | Int32s, sizes: Ints | Int32s) -> Ints:
    """Every position of the spans that begin at `starts`, one span after the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - offsets_of(sizes)[:-1], sizes)
