"""Records that wait to be published, with their users and the part in which they arrived."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from setanon_core.columns.arrays import Ints, Keys, offsets_of
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.series.name_hashes import Names


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waiting:
    """Records as columns; private: it has what users typed."""

    sets: Sets
    vocabulary: Names
    users: Keys
    """The hash of each record's user."""

    arrived: Ints
    """The part in which each record arrived, from 0."""

    numbers: Ints
    """The number of each record in the series, from 0, in the order of arrival."""

    @classmethod
    def none(cls) -> Self:
        """No record waits."""
        empty = np.empty(0, np.int64)
        return cls(Sets(empty, offsets_of(empty)), (), np.empty(0, np.uint64), empty, empty)

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"Waiting({len(self)} records)"

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.sets)

    @property
    def records(self) -> Records:
        """The records with user numbers, without the names of the items."""
        _, users = np.unique(self.users, return_inverse=True)
        return Records.from_checked_sets(self.sets, users)

    def take(self, positions: Ints) -> "Waiting":
        """The records at `positions`, in that order, with the items that they have."""
        sets = self.sets.take(positions)
        used, items = np.unique(sets.items, return_inverse=True)
        return Waiting(
            Sets.unchecked(items=items, offsets=sets.offsets),
            tuple(self.vocabulary[item] for item in used.tolist()),
            self.users[positions],
            self.arrived[positions],
            self.numbers[positions],
        )

    def join(self, others: "Waiting") -> "Waiting":
        """The records of both, sorted by what they are, not by their numbers."""
        vocabulary = tuple(sorted({*self.vocabulary, *others.vocabulary}, key=_texts_last))
        position = {name: number for number, name in enumerate(vocabulary)}
        parts = []
        for each in (self, others):
            numbers = np.array([position[name] for name in each.vocabulary], np.int64)
            parts.append(_renumbered(each.sets, numbers))
        sets = Sets.unchecked(
            items=np.concatenate([part.items for part in parts]),
            offsets=offsets_of(np.concatenate([part.sizes for part in parts])),
        )
        users, arrived, numbers = (
            np.concatenate([getattr(self, name), getattr(others, name)])
            for name in ("users", "arrived", "numbers")
        )
        # Ties in the grouping are decided by this order: the oldest first. Records that are equal
        # in all three columns can replace each other, so their numbers may decide.
        order = np.lexsort((numbers, users, sets.ranks, arrived))
        return Waiting(sets.take(order), vocabulary, users[order], arrived[order], numbers[order])


def _renumbered(sets: Sets, numbers: Ints) -> Sets:
    """The sets with these item numbers, which ascend within each set again."""
    rows, width = sets.rows, int(numbers.max(initial=0)) + 1
    cells = np.sort(rows * width + numbers[sets.items])
    return Sets.unchecked(items=cells - rows * width, offsets=sets.offsets)


def _texts_last(name: str | int) -> tuple[bool, str | int]:
    """Sort key of items: numbers and texts cannot be compared."""
    return isinstance(name, str), name
