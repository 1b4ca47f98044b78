"""Turn overlapping groups, chosen one after another by a greedy cover, into a partition.

Paper:      section 4, the suppression algorithm that Corollary 1 builds on (Park and Shim).
Guarantee:  every group keeps k users; the non-constant columns of a group are at most those of
            the chosen groups that it consists of.
Complexity: O(N) for N memberships, plus merges; each merge removes one group.
Deviation:  k counts distinct users.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from setanon_core.columns.arrays import Ints


class Partition:
    """Disjoint groups, to which chosen groups are added one at a time."""

    def __init__(self, users: Sequence[int], k: int) -> None:
        """Start without groups; `users` contains the user of every record."""
        self._users = users
        self._k = k
        self._group_of: dict[int, int] = {}
        self._members: dict[int, dict[int, None]] = {}
        self._user_counts: dict[int, Counter[int]] = {}
        self._next = 0

    def add(self, chosen: Iterable[int]) -> None:
        """Add a group of at least k users; some of its records may already be in groups.

        A shared record leaves one of the two groups, if it keeps k users. Otherwise the groups are
        merged: they share a record, so a column that is constant in both stays constant.
        """
        members = dict.fromkeys(chosen)
        group, self._next = self._next, self._next + 1
        self._members[group] = {}
        self._user_counts[group] = Counter()
        planned = Counter(self._users[record] for record in members)
        for record in members:
            user = self._users[record]
            if self._group_of.get(record) == group:
                continue
            if record in self._group_of and not self.can_spare(record):
                if len(planned) - (planned[user] == 1) >= self._k:
                    _decrement(planned, user)
                    continue
                for member in list(self._members[self._group_of[record]]):
                    self._move(member, group)
                    # Chosen records are already counted.
                    planned[self._users[member]] += member not in members
                continue
            self._move(record, group)

    def can_spare(self, record: int) -> bool:
        """Whether the group of this record keeps k users without it."""
        counts = self._user_counts[self._group_of[record]]
        return len(counts) - (counts[self._users[record]] == 1) >= self._k

    def groups(self) -> list[list[int]]:
        """The groups as sorted lists of records, sorted by first member."""
        return sorted(sorted(members) for members in self._members.values() if members)

    def labels(self, n: int) -> Ints:
        """The groups as labels of n records, numbered by their first member."""
        return labels_of(self.groups(), n)

    def _move(self, record: int, group: int) -> None:
        user = self._users[record]
        old = self._group_of.get(record)
        if old is not None:
            del self._members[old][record]
            _decrement(self._user_counts[old], user)
        self._group_of[record] = group
        self._members[group][record] = None
        self._user_counts[group][user] += 1


def labels_of(groups: Iterable[Sequence[int]], n: int) -> Ints:
    """Labels of n records: the index of the group that contains each."""
    labels = np.empty(n, np.int64)
    for label, members in enumerate(groups):
        labels[list(members)] = label
    return labels


def _decrement(counts: Counter[int], user: int) -> None:
    counts[user] -= 1
    if not counts[user]:
        del counts[user]
