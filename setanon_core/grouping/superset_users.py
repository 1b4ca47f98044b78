"""Count the users who have one record that contains a set, for many sets at once."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets

PAIRS_AT_ONCE: Final = 1 << 21
"""Pairs (set, distinct record that may contain it) in memory together."""


class SupersetUsers:
    """An inverted index of the distinct sets of the records: the sets and users of each item.

    Guarantee:  exact: each count is that of comparing every set with every record.
    Complexity: O(N log N) for N item occurrences to build it; for each set that is counted, one
                comparison with each distinct set that contains its rarest item.
    """

    def __init__(self, records: Records) -> None:
        """Sort the occurrences of each item, and the users of each distinct set."""
        first, _, ranks = records.distinct
        distinct = records.take(first)
        self._width = max(records.width, 1)
        self._n_users = records.n_users
        self._users = int(records.users.max(initial=0)) + 1
        self._cells = distinct.rows * self._width + distinct.items  # ascending
        by_item = np.argsort(distinct.items, kind="stable")
        self._sets_by_item = distinct.rows[by_item]
        self._frequency = np.bincount(distinct.items, minlength=self._width)
        self._item_offsets = offsets_of(self._frequency)
        owned, self._owners = np.divmod(
            sorted_unique(ranks * self._users + records.users), self._users
        )
        self._owner_offsets = offsets_of(np.bincount(owned, minlength=len(first)))

    def count_users(self, sets: Sets) -> Ints:
        """For each of `sets`, the distinct users with a record that contains all its items."""
        counts = np.zeros(len(sets), np.int64)
        # Rarest items first: most candidates fail at the second item already.
        order = np.lexsort((self._frequency_of(sets.items), sets.rows))
        items = sets.items[order]
        nonempty = np.flatnonzero(sets.sizes)
        counts[sets.sizes == 0] = self._n_users
        for part in self._parts(nonempty, self._frequency_of(items[sets.offsets[nonempty]])):
            counts[part] = self._count_part(part, items, sets)
        return counts

    def _frequency_of(self, items: Ints) -> Ints:
        """Distinct sets that contain each item; 0 for items that no record contains."""
        return np.where(items < self._width, self._frequency[np.minimum(items, self._width - 1)], 0)

    @staticmethod
    def _parts(sets: Ints, work: Ints) -> Iterator[Ints]:
        """Consecutive sets whose candidates are few enough to be compared together."""
        cuts = np.flatnonzero(np.diff(np.cumsum(work) // PAIRS_AT_ONCE)) + 1
        for low, high in pairwise([0, *cuts.tolist(), len(sets)]):
            yield sets[low:high]

    def _count_part(self, part: Ints, items: Ints, sets: Sets) -> Ints:
        rarest = items[sets.offsets[part]]
        sizes = self._frequency_of(rarest)
        starts = self._item_offsets[np.where(sizes > 0, rarest, 0)]
        row = np.repeat(np.arange(len(part)), sizes)
        candidate = self._sets_by_item[concat_ranges(starts, sizes)]
        for nth in range(1, int(sets.sizes[part].max(initial=0))):
            compared = sets.sizes[part][row] > nth
            contained = ~compared
            wanted = items[sets.offsets[part[row[compared]]] + nth]
            contained[compared] = self._contain(candidate[compared], wanted)
            row, candidate = row[contained], candidate[contained]
        sizes = np.diff(self._owner_offsets)[candidate]
        owners = self._owners[concat_ranges(self._owner_offsets[candidate], sizes)]
        pairs = sorted_unique(np.repeat(row, sizes) * self._users + owners)
        return np.bincount(pairs // self._users, minlength=len(part))

    def _contain(self, candidates: Ints, items: Ints) -> Bools:
        """Whether each distinct set contains the item."""
        cells = candidates * self._width + np.minimum(items, self._width - 1)
        position = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        contained: Bools = (self._cells[position] == cells) & (items < self._width)
        return contained
