"""The distinct sets of a data set, and the records and users behind each."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.records import Records


class DistinctSets:
    """Distinct sets in the order of `Sets.ranks`, which number them for every record."""

    def __init__(self, records: Records) -> None:
        """Sort the records by their sets, once."""
        first, self.weights, self.ranks = records.distinct
        self.sets = records.take(first)
        self._members = np.argsort(self.ranks, kind="stable")
        self._starts = np.cumsum(self.weights) - self.weights
        width = int(records.users.max(initial=0)) + 1
        owned, users = np.divmod(sorted_unique(self.ranks * width + records.users), width)
        self.owners = np.bincount(owned, minlength=len(first))
        """Users of each set."""

        # One set is asked for at a time, and views are quicker at that than arrays.
        self._users = users.data
        self._bounds = offsets_of(self.owners).data

    def members(self, sets: npt.NDArray[np.integer]) -> Ints:
        """The records with these sets."""
        return self._members[concat_ranges(self._starts[sets], self.weights[sets])]

    def has_k_users(self, sets: Iterable[int], k: int) -> bool:
        """Whether the records with these sets have k users."""
        users, bounds = self._users, self._bounds
        met: set[int] = set()
        for s in sets:
            low, high = bounds[s], bounds[s + 1]
            # The users of one set differ: where there are k of them, none is looked at.
            if high - low >= k:
                return True
            met.update(users[low:high])
            if len(met) >= k:
                return True
        return False
