"""A block of records with its groups, and the cost change of every possible single move.

Paper:      Definition 5: groups of at least k, centers anywhere, least sum of Hamming distances.
Guarantee:  cost changes are exact: they are changes of the cost of Algorithm 1, ties included.
Complexity: O(n * G * m) for n records, G groups and m items, as one matrix product.
Deviation:  users are counted, not records; group 0 contains the withdrawn records and needs no
            users.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import Floats, dense
from setanon_core.params import Operations

FLOAT32_CELLS: Final = 1 << 24
"""Matrix cells up to which float32 is exact: no cost exceeds the number of cells."""


@dataclass(slots=True)
class Block:
    """Records as a 0/1 matrix X, their users, and the group of each; group 0 is withdrawal."""

    X: Floats
    users: Ints
    group: Ints
    k: int
    operations: Operations
    centers: Floats
    """Candidate centers of new groups: the distinct rows of X."""

    slots: int
    """Number of groups that `group` may refer to; some are empty."""

    ones: Floats = field(init=False)
    """Number of members of each group that contain each item."""

    size: Floats = field(init=False)
    costs: Floats = field(init=False)
    entry_cost: Floats = field(init=False)
    """Cost increase of group g when record i is added."""

    exit_saving: Floats = field(init=False)
    """Cost decrease of the group of record i when i is removed."""

    may_leave: Bools = field(init=False)
    records_of_user: Ints = field(init=False)
    """Number of records of each user in each group."""

    def __post_init__(self) -> None:
        """Compute the derived arrays."""
        self.update()

    @property
    def cost(self) -> int:
        """Additions and deletions of the complete block."""
        return int(self.costs.sum())

    def update(self) -> None:
        """Recompute the derived arrays; must be called after every change of `group`."""
        n = len(self.group)
        inside = np.zeros((self.slots, n), self.X.dtype)
        inside[self.group, np.arange(n)] = 1
        self.ones = inside @ self.X
        self.size = inside.sum(1)
        self.costs = group_costs(self.ones, self.size, self.operations)
        self.costs[0] = self.ones[0].sum()
        entry_base, entry_weight = entry_costs(self.ones, self.size, self.operations)
        exit_base, exit_weight = exit_savings(self.ones, self.size, self.operations)
        entry_base[self.size == 0] = np.inf
        entry_base[0], entry_weight[0] = (np.inf if self.operations == "additions" else 0), 1
        exit_base[0], exit_weight[0] = 0, 1
        self.entry_cost = entry_base + self.X @ entry_weight.T
        self.exit_saving = exit_base[self.group] + np.einsum(
            "ij,ij->i", self.X, exit_weight[self.group]
        )
        self.records_of_user = np.zeros((self.slots, int(self.users.max()) + 1), np.int64)
        np.add.at(self.records_of_user, (self.group, self.users), 1)
        self.may_leave = (self.group == 0) | ~self.is_sole | (self.n_users[self.group] > self.k)

    @property
    def n_users(self) -> Ints:
        """Distinct users of each group."""
        counts: Ints = np.count_nonzero(self.records_of_user, axis=1)
        return counts

    @property
    def is_sole(self) -> Bools:
        """Whether a record is the only one of its user in its group."""
        sole: Bools = self.records_of_user[self.group, self.users] == 1
        return sole

    def replacement_costs(self) -> Floats:
        """Cost change of group(i) when j replaces i, for all pairs (i, j); infinite if invalid."""
        ones = self.ones[self.group] - self.X
        size = self.size[self.group] - 1
        base, weight = entry_costs(ones, size, self.operations)
        withdrawn = self.group == 0
        base[withdrawn], weight[withdrawn] = 0, 1
        change = base[:, None] + weight @ self.X.T - self.exit_saving[:, None]
        users_without_i = self.n_users[self.group] - self.is_sole
        adds_user = self.records_of_user[self.group][:, self.users] == 0
        adds_user |= self.is_sole[:, None] & (self.users[:, None] == self.users)
        # Withdrawal needs no users.
        too_few = (users_without_i[:, None] + adds_user < self.k) & ~withdrawn[:, None]
        change[too_few | (self.group[:, None] == self.group)] = np.inf
        return change


def block_of(records: Records, labels: Ints, k: int, operations: Operations) -> Block:
    """Build a block with enough empty groups for all that can be opened.

    Items that no center of the block can contain are omitted: all their occurrences are deleted in
    every grouping of the block, so they do not affect comparisons.
    """
    items, support = np.unique(records.items, return_counts=True)
    min_support = {"both": k // 2 + 1, "deletions": k, "additions": 1}[operations]
    keep = np.zeros(records.width, np.bool_)
    keep[items[support >= min_support]] = True
    kept = records.keep_items(keep)
    matrix = dense(kept)
    if matrix.size > FLOAT32_CELLS:
        matrix = matrix.astype(np.float64)
    first, _, _ = kept.distinct
    _, users = np.unique(records.users, return_inverse=True)
    _, group = np.unique(np.append(labels, -1), return_inverse=True)
    slots = max(int(group.max()) + 1, len(records) // k + 1) + 1
    return Block(matrix, users, group[:-1], k, operations, matrix[first], slots)


def group_costs(ones: Floats, size: Floats, operations: Operations) -> Floats:
    """Cost of each group with the best center that the operations allow."""
    costs: Floats = np.minimum(ones, size[:, None] - ones).sum(1)
    if operations == "additions":
        costs = size * (ones > 0).sum(1) - ones.sum(1)
    elif operations == "deletions":
        costs = ones.sum(1) - size * (ones == size[:, None]).sum(1)
    return costs


def entry_costs(ones: Floats, size: Floats, operations: Operations) -> tuple[Floats, Floats]:
    """Base and weight per item: adding S to a group costs `base + sum of weight over S`."""
    s = size[:, None]
    if operations == "additions":
        union = ones > 0
        return union.sum(1).astype(ones.dtype), (s + 1) * ~union - 1
    if operations == "deletions":
        intersection = ones == s
        return size * intersection.sum(1), 1 - (s + 1) * intersection
    # On a tie, a new record adds no cost for the item, whether it contains the item or not.
    majority, tie = 2 * ones > s, 2 * ones == s
    return majority.sum(1).astype(ones.dtype), (1 - 2 * majority - tie).astype(ones.dtype)


def exit_savings(ones: Floats, size: Floats, operations: Operations) -> tuple[Floats, Floats]:
    """Base and weight per item: removing S from a group saves `base + sum of weight over S`."""
    s = size[:, None]
    if operations == "additions":
        return (ones > 0).sum(1).astype(ones.dtype), (s - 1) * (ones == 1) - 1
    if operations == "deletions":
        all_but_one = ones == s - 1
        base = (size - 1) * all_but_one.sum(1) - (ones == s).sum(1)
        return base, 1 - (s - 1) * all_but_one
    majority, tie = 2 * ones > s, 2 * ones == s
    base = (majority | tie).sum(1).astype(ones.dtype)
    return base, (1 - 2 * majority - tie).astype(ones.dtype)
