"""`Sets`: many sets of item numbers as two integer columns."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from setanon_core.columns.arrays import (
    Bools,
    Ints,
    concat_ranges,
    dense_ranks,
    first_positions,
    integer_column,
    offsets_of,
    rows_of,
)
from setanon_core.errors import MalformedInputError

NUMBER_LIMIT: Final = 1 << 31
"""Item and user numbers are below this limit, so that two of them fit into one int64."""

KEY_BITS: Final = 63
"""Bits of a nonnegative int64."""

SETS_AT_ONCE: Final = 1 << 18
"""Sets that are copied together: bounds the memory of 64-bit positions."""


@dataclass(frozen=True, eq=False)
class Sets:
    """Many sets of item numbers in two columns: set i is `items[offsets[i]:offsets[i + 1]]`.

    Items ascend within each set. The columns are int64, or int32 in very large data built by
    `unchecked`. The arrays are checked once, by the constructor, and are read-only.
    """

    items: Ints
    offsets: Ints

    def __post_init__(self) -> None:
        """Check the invariants that every algorithm relies on; make the arrays read-only."""
        freeze_column(self, "items")
        freeze_column(self, "offsets")
        check_number_range("items", self.items)
        rows = rows_of(self.offsets, len(self.items))
        ascending = (np.diff(self.items) > 0) | (np.diff(rows) > 0)
        if not ascending.all():
            raise MalformedInputError(
                "items must ascend within each record. Use Records.from_columns, which sorts them."
            )

    @classmethod
    def unchecked(cls, **columns: Any) -> Self:  # noqa: ANN401 - the columns of any subclass
        """Build from columns that are known to be valid, without checks or copies.

        The arrays become read-only.
        """
        instance = object.__new__(cls)
        for name, column in columns.items():
            if isinstance(column, np.ndarray):
                column.flags.writeable = False
            object.__setattr__(instance, name, column)
        return instance

    def __repr__(self) -> str:
        """Counts only: tracebacks and logs must not contain any data."""
        return f"Sets({len(self)} sets, {len(self.items)} item occurrences)"

    def __len__(self) -> int:
        """Return n, the number of sets."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints:
        """|S_i| for every set."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Ints:
        """Set number of each item occurrence; not cached: fast to compute, and large."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def width(self) -> int:
        """Largest item number + 1; 0 without items."""
        return int(self.items.max()) + 1 if len(self.items) else 0

    def take(self, positions: Ints) -> "Sets":
        """The sets at `positions`, in that order."""
        sizes = self.sizes[positions]
        offsets, starts = offsets_of(sizes), self.offsets[:-1]
        items = np.empty(int(offsets[-1]), self.items.dtype)
        for low in range(0, len(sizes), SETS_AT_ONCE):
            part = slice(low, low + SETS_AT_ONCE)
            chosen = self.items[concat_ranges(starts[positions[part]], sizes[part])]
            items[offsets[low] : offsets[low] + len(chosen)] = chosen
        return Sets.unchecked(items=items, offsets=offsets)

    def keep_items(self, keep: Bools) -> "Sets":
        """Remove the items for which `keep[item]` is False; no set is removed."""
        return self.filter_occurrences(keep[self.items])

    def filter_occurrences(self, keep: Bools) -> "Sets":
        """Remove the item occurrences for which `keep` is False; no set is removed."""
        sizes = np.empty(len(self), np.int64)
        for low in range(0, len(self), SETS_AT_ONCE):
            bounds = self.offsets[low : low + SETS_AT_ONCE + 1]
            kept = offsets_of(keep[bounds[0] : bounds[-1]])
            sizes[low : low + SETS_AT_ONCE] = np.diff(kept[bounds - bounds[0]])
        return Sets.unchecked(items=self.items[keep], offsets=offsets_of(sizes))

    def bitmasks(self) -> list[int]:
        """Every set as a Python integer with bit i set for item i; for small data only."""
        bitmasks = [0] * len(self)
        for row, item in zip(self.rows.tolist(), self.items.tolist(), strict=True):
            bitmasks[row] |= 1 << item
        return bitmasks

    @cached_property
    def ranks(self) -> Ints:
        """Rank of each set among the distinct sets, by size, then by items; equal sets tie."""
        ranks = np.empty(len(self), np.int64)
        bits = self.width.bit_length()
        smaller = 0  # distinct sets of smaller sizes
        for size in np.flatnonzero(np.bincount(self.sizes)).tolist():
            rows = np.flatnonzero(self.sizes == size)
            starts = self.offsets[rows]
            key, used = np.zeros(len(rows), np.int64), 0
            for position in range(size):
                # Pack as many items into one integer key as fit; then replace keys by ranks.
                if used + bits > KEY_BITS:
                    key, distinct = dense_ranks(key)
                    if distinct == len(rows):
                        break  # the first items decide: sets may have thousands
                    used = distinct.bit_length()
                key = key << bits | self.items[starts + position]
                used += bits
            key, distinct = dense_ranks(key)
            ranks[rows] = smaller + key
            smaller += distinct
        ranks.flags.writeable = False  # all callers share this array
        return ranks

    @cached_property
    def distinct(self) -> tuple[Ints, Ints, Ints]:
        """First position and count of each distinct set, in rank order; and the `ranks`.

        >>> first, counts, ranks = Sets(np.array([4, 2, 4]), np.array([0, 1, 2, 3])).distinct
        >>> first.tolist(), counts.tolist(), ranks.tolist()
        ([1, 0], [1, 2], [1, 0, 1])
        """
        counts = np.bincount(self.ranks)
        first = first_positions(self.ranks)
        first.flags.writeable = counts.flags.writeable = False
        return first, counts, self.ranks


def freeze_column(instance: Sets, name: str) -> None:
    """Replace one column of a frozen instance by a read-only int64 array."""
    column = integer_column(name, getattr(instance, name))
    if column.flags.writeable:
        # The caller may still write to this array, or to the array that it is a view of.
        column = column.copy()
        column.flags.writeable = False
    object.__setattr__(instance, name, column)


def check_number_range(name: str, numbers: Ints) -> None:
    """Refuse item or user numbers outside of 0, ..., NUMBER_LIMIT - 1."""
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= NUMBER_LIMIT):
        raise MalformedInputError(
            f"{name} must be numbers from 0 to {NUMBER_LIMIT - 1}. "
            "Use Records.from_columns, which numbers them."
        )
