"""Many sets of item numbers in two columns, and the arithmetic of such columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.errors import MalformedInputError

Ints = npt.NDArray[np.int64]

LIMIT: Final = 1 << 31
"""Items and users are numbered below this, so that a pair of them fits into 64 bits."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Many sets of item numbers in two columns: set i is `items[offsets[i]:offsets[i + 1]]`.

    Items ascend within each set. The arrays are checked once, when made, and then read-only.
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
        return Sets(self.items[spans(self.offsets[:-1][positions], sizes)], bounds_of(sizes))

    def keep_items(self, keep: npt.NDArray[np.bool_]) -> "Sets":
        """The same sets without the item occurrences whose item is not in `keep`."""
        kept = keep[self.items]
        sizes = np.bincount(self.rows[kept], minlength=len(self))
        return Sets(self.items[kept], bounds_of(sizes))

    def masks(self) -> list[int]:
        """Every set as a Python integer with one bit per item: for small clusters."""
        masks = [0] * len(self)
        for row, item in zip(self.rows.tolist(), self.items.tolist(), strict=True):
            masks[row] |= 1 << item
        return masks

    def ranks(self) -> Ints:
        """Number the distinct sets by size, then item by item; equal sets share a number."""
        ranks = np.empty(len(self), np.int64)
        first = 0
        for size in np.unique(self.sizes):
            rows = np.flatnonzero(self.sizes == size)
            if size == 0:
                ranks[rows] = 0
                first = 1
                continue
            block = self.items[self.offsets[:-1][rows][:, None] + np.arange(size)]
            # Big-endian bytes sort as the numbers do, at the speed of memcmp.
            keys = np.ascontiguousarray(block.astype(">u4")).view(f"S{4 * size}")
            distinct, inverse = np.unique(keys.ravel(), return_inverse=True)
            ranks[rows] = first + inverse
            first += len(distinct)
        return ranks

    def distinct(self) -> tuple[Ints, Ints, Ints]:
        """Where each distinct set stands first, how often it occurs, and every set's rank.

        >>> first, times, ranks = Sets(np.array([4, 2, 4]), np.array([0, 1, 2, 3])).distinct()
        >>> first.tolist(), times.tolist(), ranks.tolist()
        ([1, 0], [1, 2], [1, 0, 1])
        """
        ranks = self.ranks()
        _, first, times = np.unique(ranks, return_index=True, return_counts=True)
        return first, times, ranks


def integers(name: str, values: npt.ArrayLike) -> Ints:
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
    column = integers(name, getattr(owner, name))
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


def bounds_of(sizes: Ints) -> Ints:
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


def distinct_numbers(numbers: Ints) -> Ints:
    """Each number, from 0 on, once and in order: `np.unique` hashes, and is slower here."""
    line = np.sort(numbers)
    return line[np.diff(line, prepend=-1) > 0]


def spans(starts: Ints, sizes: Ints) -> Ints:
    """Every position of the spans that begin at `starts`, one span after the other."""
    return np.arange(sizes.sum()) + np.repeat(starts - bounds_of(sizes)[:-1], sizes)
