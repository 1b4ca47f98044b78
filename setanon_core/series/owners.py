"""Count the owners of each item over a whole series, without the names of users.

Guarantee:  exact up to `least`, for all users that were added (see `name_hashes` for collisions).
Complexity: 8 bytes per item with at least `least` owners, 16 bytes per pair of a rarer item and
            its user; an item has fewer than `least` pairs. Adding a part hashes the pairs of its
            rarer items only, and copies the columns.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, Keys, concat_ranges, run_starts
from setanon_core.series.name_hashes import pair_hashes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Owners:
    """The items that have enough owners, and the owners of the others; all columns ascend."""

    least: int
    """Owners that an item needs; more are not counted."""

    known: Keys
    """Hashes of the items with at least `least` owners."""

    items: Keys
    """Hashes of the other items, one row per owner."""

    pairs: Keys
    """The hash of item and owner in each row."""

    @classmethod
    def none(cls, least: int) -> Self:
        """No owner of any item yet."""
        return cls(least, *(np.empty(0, np.uint64) for _ in range(3)))

    def __repr__(self) -> str:
        """Counts only."""
        return f"Owners({len(self.known)} items known, {len(self.items)} owners of others)"

    def count(self, items: Keys) -> Ints:
        """The number of owners of each item, at most `least`."""
        low, high = (np.searchsorted(self.items, items, side) for side in ("left", "right"))
        return np.where(_contains(self.known, items), self.least, high - low)

    def add(self, items: Keys, users: Keys, secret: bytes) -> "Owners":
        """Add pairs of an item and its user, in any order; pairs may be repeated."""
        if self.least == 0:
            return self
        rare = ~_contains(self.known, items)
        items, pairs = items[rare], pair_hashes(items[rare], users[rare], secret)
        # Only the rows of these items change: the others are copied.
        touched = np.unique(items)
        low, high = (np.searchsorted(self.items, touched, side) for side in ("left", "right"))
        old = concat_ranges(low, high - low)
        items = np.concatenate([self.items[old], items])
        pairs = np.concatenate([self.pairs[old], pairs])
        order = np.lexsort((pairs, items))
        items, pairs = items[order], pairs[order]
        distinct = run_starts(items, pairs)
        items, pairs = items[distinct], pairs[distinct]
        first = np.flatnonzero(run_starts(items))
        counts = np.diff(first, append=len(items))
        enough = counts >= self.least
        kept = np.repeat(~enough, counts)
        other_items, other_pairs = np.delete(self.items, old), np.delete(self.pairs, old)
        places = np.searchsorted(other_items, items[kept])
        known = items[first[enough]]
        return Owners(
            self.least,
            np.insert(self.known, np.searchsorted(self.known, known), known),
            np.insert(other_items, places, items[kept]),
            np.insert(other_pairs, places, pairs[kept]),
        )


def _contains(ascending: Keys, values: Keys) -> Bools:
    """Whether each value is among the ascending ones."""
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    found = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    contained: Bools = ascending[found] == values
    return contained
