"""The group of each record while centers stand still, with moves that can be undone."""

from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.model.groups import WITHDRAWN

FAR: Final = 1 << 40
"""More than any cost and any number of users."""


class Move(NamedTuple):
    """A record, the node to which it moves, and what it saves there against withdrawal."""

    record: int
    node: int
    saving: int


class Assignment:
    """The node of each record: the row of its center, or `withdrawn`; further nodes are new groups.

    Centers are fixed, so that the gains of moves add up: `gain` is the sum since the beginning.
    """

    def __init__(self, records: Records, rows: Ints, saving: Ints, n_centers: int, k: int) -> None:
        """Count the records and users of each node; `saving` is that of each record in its node."""
        self.k, self.withdrawn, self.gain = k, n_centers, 0
        self.node = np.where(rows == WITHDRAWN, n_centers, rows)
        self.saving = saving.copy()
        # New groups have at least k records each, except the one that is being built.
        self.n_nodes = n_centers + 2 + len(records) // k
        self._next = n_centers + 1
        self._width = int(records.users.max(initial=0)) + 1
        pairs, n_records = np.unique(self.node * self._width + records.users, return_counts=True)
        self._records_of = dict(zip(pairs.tolist(), n_records.tolist(), strict=True))
        self.n_users = np.bincount(pairs // self._width, minlength=self.n_nodes)
        self.n_users[n_centers] = FAR
        # Memoryviews: faster than arrays for single elements.
        self.node_of, self.saving_of = self.node.data, self.saving.data
        self.users_in, self._user_of = self.n_users.data, records.users.astype(np.int64).data
        self._journal: list[Move] = []
        self.members: list[set[int]] = [set() for _ in range(self.n_nodes)]
        for i, node in enumerate(self.node.tolist()):
            self.members[node].add(i)

    @property
    def labels(self) -> Ints:
        """The nodes as labels: `WITHDRAWN` for withdrawn records."""
        return np.where(self.node == self.withdrawn, WITHDRAWN, self.node)

    @property
    def has_spare_user(self) -> Ints:
        """0 for the nodes that can lose a user, `FAR` for all others."""
        return np.where(self.n_users > self.k, 0, FAR)

    def new_node(self) -> int:
        """The number of a new group without members."""
        while self.n_users[self._next]:
            self._next += 1
        return self._next

    def apply(self, moves: list[Move]) -> bool:
        """Make all moves, or none if some nonempty group would lack more users than before."""
        nodes = {self.node_of[move.record] for move in moves} | {move.node for move in moves}
        lacking, mark = [(node, self.lacking(node)) for node in nodes], self.mark()
        for move in moves:
            self.move(move)
        if any(self.lacking(node) > before for node, before in lacking):
            self.undo(mark)
            return False
        return True

    def move(self, move: Move) -> None:
        """Move a record, even if its group then has too few users."""
        i = move.record
        self._journal.append(Move(i, self.node_of[i], self.saving_of[i]))
        self._set(move)

    def mark(self) -> int:
        """The present state, for `undo`."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Return to a state marked before."""
        while len(self._journal) > mark:
            self._set(self._journal.pop())

    def sources(self, mark: int) -> list[int]:
        """The nodes that records have left since a mark, in this order."""
        return list(dict.fromkeys(move.node for move in self._journal[mark:]))

    def lacking(self, node: int) -> int:
        """Users that a group lacks to have k; 0 without members."""
        n = self.users_in[node]
        return self.k - n if 0 < n < self.k else 0

    def _set(self, move: Move) -> None:
        i, target, saving = move
        source, user = self.node_of[i], self._user_of[i]
        old, new = source * self._width + user, target * self._width + user
        self._records_of[old] -= 1
        self.users_in[source] -= self._records_of[old] == 0
        self._records_of[new] = self._records_of.get(new, 0) + 1
        self.users_in[target] += self._records_of[new] == 1
        self.gain += saving - self.saving_of[i]
        self.members[source].remove(i)
        self.members[target].add(i)
        self.node_of[i], self.saving_of[i] = target, saving
