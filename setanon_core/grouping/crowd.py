"""The distinct sets of a data set, and the records and users behind each."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from setanon_core.records import Records
from setanon_core.sets import Ints, distinct_numbers, spans


class Crowd:
    """Distinct sets in the order of `Sets.ranks`, which number them for every record."""

    def __init__(self, records: Records) -> None:
        """Sort the records by their sets, once."""
        first, self.weights, self.ranks = records.distinct()
        self.sets = records.take(first)
        self._members = np.argsort(self.ranks, kind="stable")
        self._starts = np.cumsum(self.weights) - self.weights
        width = int(records.users.max(initial=0)) + 1
        owned, users = np.divmod(distinct_numbers(self.ranks * width + records.users), width)
        # One set is asked for at a time, and views are quicker at that than arrays.
        self._users = users.data
        self._bounds = np.searchsorted(owned, np.arange(len(first) + 1)).data

    def members(self, sets: npt.NDArray[np.integer]) -> Ints:
        """The records with these sets."""
        return self._members[spans(self._starts[sets], self.weights[sets])]

    def suffices(self, sets: Iterable[int], k: int) -> bool:
        """Whether the records with these sets have k users."""
        users, bounds = self._users, self._bounds
        met: set[int] = set()
        for s in sets:
            # The users of one set differ: k of them are enough, and no more are looked at.
            met.update(users[bounds[s] : min(bounds[s + 1], bounds[s] + k)])
            if len(met) >= k:
                return True
        return False
