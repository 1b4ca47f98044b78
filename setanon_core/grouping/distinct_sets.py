"""The distinct sets of the records, and the records and users of each."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.records import Records


class DistinctSets:
    """The distinct sets, numbered by `Sets.ranks`, which gives the number for each record."""

    def __init__(self, records: Records) -> None:
        """Sort the records by set, and count records and users of each set."""
        first, self.weights, self.ranks = records.distinct
        self.sets = records.take(first)
        self._records_by_set = np.argsort(self.ranks, kind="stable")
        self._record_starts = np.cumsum(self.weights) - self.weights
        width = int(records.users.max(initial=0)) + 1
        owned, users = np.divmod(sorted_unique(self.ranks * width + records.users), width)
        self.owners = np.bincount(owned, minlength=len(first))
        """Number of distinct users of each set."""

        # Memoryviews: faster than arrays for reading single elements.
        self._users = users.data
        self._user_offsets = offsets_of(self.owners).data

    def records_of(self, sets: npt.NDArray[np.integer]) -> Ints:
        """The records with these sets, set by set."""
        return self._records_by_set[concat_ranges(self._record_starts[sets], self.weights[sets])]

    def has_k_users(self, sets: Iterable[int], k: int) -> bool:
        """Whether the records with these sets have at least k distinct users."""
        users, offsets = self._users, self._user_offsets
        seen: set[int] = set()
        for s in sets:
            low, high = offsets[s], offsets[s + 1]
            # The users of one set are distinct: k of them are enough without reading them.
            if high - low >= k:
                return True
            seen.update(users[low:high])
            if len(seen) >= k:
                return True
        return False
