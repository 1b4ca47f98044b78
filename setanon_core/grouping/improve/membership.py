"""Who sits in which group, kept up to date while records leave, so that k users always stay."""

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import Bools
from setanon_core.model.groups import WITHDRAWN


class Membership:
    """Records of every user in every group; views of arrays, since one is asked at a time.

    `may_leave` marks the records whose groups could spare them when everybody was still seated.
    """

    def __init__(self, records: Records, labels: Ints, k: int) -> None:
        """Count the seats as the labels have them."""
        width = int(records.users.max(initial=0)) + 1
        pairs, seat, taken = np.unique(
            labels * width + records.users, return_inverse=True, return_counts=True
        )
        _, row, users = np.unique(pairs // width, return_inverse=True, return_counts=True)
        self.may_leave: Bools = (taken[seat] > 1) | (users[row][seat] > k) | (labels == WITHDRAWN)
        self._k = k
        self._seat = seat.data
        self._taken = taken.data
        # Withdrawal needs no users: as many as there could be never fall to k.
        users[row[pairs < 0][:1]] += len(labels) + k
        self._group = row.data
        self._users = users.data

    def must_stay(self, i: int) -> bool:
        """Whether record i must stay, or its group would have fewer than k users."""
        seat = self._seat[i]
        return bool(self._taken[seat] == 1 and self._users[self._group[seat]] <= self._k)

    def leave(self, i: int) -> bool:
        """Take record i out of its group if k users stay, or if it was withdrawn anyway."""
        if self.must_stay(i):
            return False
        seat = self._seat[i]
        self._taken[seat] -= 1
        self._users[self._group[seat]] -= self._taken[seat] == 0
        return True

    def rejoin(self, i: int) -> None:
        """Undo `leave`."""
        seat = self._seat[i]
        self._taken[seat] += 1
        self._users[self._group[seat]] += self._taken[seat] == 1
