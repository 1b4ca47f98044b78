"""Count the users who have one record that contains a set, for many sets at once."""

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.supersets import SupersetIndex
from setanon_core.columns.users import count_users


class SupersetUsers:
    """An index of the distinct sets of the records, and the users of each distinct set.

    Guarantee:  exact: each count is that of comparing every set with every record.
    Complexity: that of `SupersetIndex` for the distinct sets, and O(n log n) for n records.
    """

    def __init__(self, records: Records) -> None:
        """Index the distinct sets; sort the users of each."""
        first, _, ranks = records.distinct
        self._index = SupersetIndex(records.take(first))
        width = int(records.users.max(initial=0)) + 1
        owned, self._owners = np.divmod(sorted_unique(ranks * width + records.users), width)
        self._owner_offsets = offsets_of(np.bincount(owned, minlength=len(first)))

    def count_users(self, sets: Sets) -> Ints:
        """For each of `sets`, the distinct users with a record that contains all its items."""
        counts = np.zeros(len(sets), np.int64)
        for rows, found in self._index.find(sets):
            sizes = np.diff(self._owner_offsets)[found]
            owners = self._owners[concat_ranges(self._owner_offsets[found], sizes)]
            counts += count_users(np.repeat(rows, sizes), owners, len(sets))
        return counts
