"""Turn groups that overlap into groups that do not, as chosen one after the other by a cover.

Paper:      section 4, the suppression algorithm that Corollary 1 builds on (Park and Shim).
Guarantee:  every group keeps k users; the non-constant columns of a group are at most those of
            the chosen groups that it was made of.
Complexity: O(N) for N memberships, apart from merges, each of which ends a group.
Deviation:  k counts distinct users.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from setanon_core.columns.arrays import Ints


class Partition:
    """Disjoint groups that grow by one chosen group at a time."""

    def __init__(self, users: Sequence[int], k: int) -> None:
        """Begin without groups; `users` has the user of every record."""
        self._users = users
        self._k = k
        self._owner: dict[int, int] = {}
        self._members: dict[int, dict[int, None]] = {}
        self._owners: dict[int, Counter[int]] = {}
        self._next = 0

    def add(self, chosen: Iterable[int]) -> None:
        """Take in a group of at least k users, some of whose records may be in groups already.

        A shared record leaves whichever of the two groups can spare it. If neither can, the two
        become one: they share a record, so no column that is constant in both turns non-constant.
        """
        members = dict.fromkeys(chosen)
        group, self._next = self._next, self._next + 1
        self._members[group] = {}
        self._owners[group] = Counter()
        planned = Counter(self._users[record] for record in members)
        for record in members:
            user = self._users[record]
            if self._owner.get(record) == group:
                continue
            if record in self._owner and not self.can_spare(record):
                if len(planned) - (planned[user] == 1) >= self._k:
                    _take_out(planned, user)
                    continue
                for mate in list(self._members[self._owner[record]]):
                    self._move(mate, group)
                    # Mates that were chosen too are counted already.
                    planned[self._users[mate]] += mate not in members
                continue
            self._move(record, group)

    def can_spare(self, record: int) -> bool:
        """Whether the group of this record keeps k users without it."""
        owners = self._owners[self._owner[record]]
        return len(owners) - (owners[self._users[record]] == 1) >= self._k

    def groups(self) -> list[list[int]]:
        """The groups, each in order of position, by their first member."""
        return sorted(sorted(members) for members in self._members.values() if members)

    def labels(self, n: int) -> Ints:
        """The groups as labels of n records, numbered by their first member."""
        return labels_of(self.groups(), n)

    def _move(self, record: int, group: int) -> None:
        user = self._users[record]
        old = self._owner.get(record)
        if old is not None:
            del self._members[old][record]
            _take_out(self._owners[old], user)
        self._owner[record] = group
        self._members[group][record] = None
        self._owners[group][user] += 1


def labels_of(groups: Iterable[Sequence[int]], n: int) -> Ints:
    """Number groups that cover n records in the order given."""
    labels = np.empty(n, np.int64)
    for label, members in enumerate(groups):
        labels[list(members)] = label
    return labels


def _take_out(users: Counter[int], user: int) -> None:
    users[user] -= 1
    if not users[user]:
        del users[user]
