"""Who sits in which group, kept up to date while records leave, so that k users always stay."""

import numpy as np

from setanon_core.grouping.matrices import Bools
from setanon_core.model import WITHDRAWN
from setanon_core.records import Records
from setanon_core.sets import Ints


class Seats:
    """Records of every user in every group; plain lists, since one is asked at a time.

    `may_leave` marks the records whose groups could spare them when everybody was still seated.
    """

    def __init__(self, records: Records, labels: Ints, k: int) -> None:
        """Count the seats as the labels have them."""
        width = int(records.users.max(initial=0)) + 1
        pairs, seat, taken = np.unique(
            labels * width + records.users, return_inverse=True, return_counts=True
        )
        groups, row, users = np.unique(pairs // width, return_inverse=True, return_counts=True)
        self.may_leave: Bools = (taken[seat] > 1) | (users[row][seat] > k) | (labels == WITHDRAWN)
        self._k = k
        self._seat: list[int] = seat.tolist()
        self._taken: list[int] = taken.tolist()
        self._group: list[int] = labels.tolist()
        self._users: dict[int, int] = dict(zip(groups.tolist(), users.tolist(), strict=True))

    def leave(self, i: int) -> bool:
        """Take record i out of its group if k users stay, or if it was withdrawn anyway."""
        seat, group = self._seat[i], self._group[i]
        last = self._taken[seat] == 1
        if last and group != WITHDRAWN and self._users[group] <= self._k:
            return False
        self._taken[seat] -= 1
        self._users[group] -= last
        return True

    def come_back(self, i: int) -> None:
        """Undo `leave`."""
        seat = self._seat[i]
        self._taken[seat] += 1
        self._users[self._group[i]] += self._taken[seat] == 1
