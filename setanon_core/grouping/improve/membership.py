"""Count users per group while records leave, so that every group keeps k users."""

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.model.groups import WITHDRAWN


class Membership:
    """Number of records of every user in every group, and number of users of every group.

    `may_leave` marks the records that can leave their group in the initial state.
    """

    def __init__(self, records: Records, labels: Ints, k: int) -> None:
        """Count the pairs (group, user) of the labels."""
        width = int(records.users.max(initial=0)) + 1
        pairs, pair_of, n_records = np.unique(
            labels * width + records.users, return_inverse=True, return_counts=True
        )
        _, group_of, n_users = np.unique(pairs // width, return_inverse=True, return_counts=True)
        self.may_leave: Bools = (
            (n_records[pair_of] > 1) | (n_users[group_of][pair_of] > k) | (labels == WITHDRAWN)
        )
        self._k = k
        # Memoryviews: faster than arrays for reading single elements.
        self._pair_of = pair_of.data
        self._n_records = n_records.data
        # Withdrawn records may always leave: give them more users than can leave.
        n_users[group_of[pairs < 0][:1]] += len(labels) + k
        self._group_of = group_of.data
        self._n_users = n_users.data

    def must_stay(self, i: int) -> bool:
        """Whether the group of record i would have fewer than k users without it."""
        pair = self._pair_of[i]
        return bool(self._n_records[pair] == 1 and self._n_users[self._group_of[pair]] <= self._k)

    def leave(self, i: int) -> bool:
        """Remove record i from its group, unless it must stay; return whether it was removed."""
        if self.must_stay(i):
            return False
        pair = self._pair_of[i]
        self._n_records[pair] -= 1
        self._n_users[self._group_of[pair]] -= self._n_records[pair] == 0
        return True

    def rejoin(self, i: int) -> None:
        """Undo `leave`."""
        pair = self._pair_of[i]
        self._n_records[pair] += 1
        self._n_users[self._group_of[pair]] += self._n_records[pair] == 1
