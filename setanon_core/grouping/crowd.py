"""The distinct sets of a data set, and the records and users behind each."""

import numpy as np

from setanon_core.records import Records
from setanon_core.sets import Ints, spans


class Crowd:
    """Distinct sets in the order of `Sets.ranks`, which number them for every record."""

    def __init__(self, records: Records) -> None:
        """Sort the records by their sets, once."""
        first, self.weights, self.ranks = records.distinct()
        self.sets = records.take(first)
        self._one_each = records.n_users == len(records)
        self._members = np.argsort(self.ranks, kind="stable")
        self._users = records.users[self._members]
        self._starts = np.cumsum(self.weights) - self.weights

    def members(self, sets: Ints) -> Ints:
        """The records with these sets."""
        return self._members[spans(self._starts[sets], self.weights[sets])]

    def suffices(self, sets: Ints, k: int) -> bool:
        """Whether the records with these sets have k users."""
        if self.weights[sets].sum() < k:
            return False
        if self._one_each:
            return True
        users = self._users[spans(self._starts[sets], self.weights[sets])]
        return len(np.unique(users)) >= k
