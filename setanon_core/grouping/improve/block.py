"""A block of records with its groups, and what every single move in it would cost.

Paper:      Definition 5: groups of at least k, centers anywhere, least sum of Hamming distances.
Guarantee:  the prices are exact: they are changes of the cost of Algorithm 1, ties included.
Complexity: O(n * G * m) for n records, G groups and m items, as one matrix product.
Deviation:  users are counted, not records; group 0 holds the withdrawn, and needs no users.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.matrices import Bools, Floats, dense
from setanon_core.params import Operations

EXACT_CELLS: Final = 1 << 24
"""No price exceeds the cells of the matrix, and up to here 32-bit floats count exactly."""


@dataclass(slots=True)
class Block:
    """Records as a 0/1 matrix X, their users, and the group of each; group 0 is withdrawal."""

    X: Floats
    users: Ints
    group: Ints
    k: int
    operations: Operations
    centers: Floats
    """Sets that a new group may open: the distinct rows of X."""

    slots: int
    """Groups that `group` may name; empty ones wait to be opened."""

    ones: Floats = field(init=False)
    size: Floats = field(init=False)
    costs: Floats = field(init=False)
    add: Floats = field(init=False)
    """What it costs group g to take in record i."""

    leave: Floats = field(init=False)
    """What its own group saves when record i leaves."""

    may_leave: Bools = field(init=False)
    seats: Ints = field(init=False)
    """Records of each user in each group."""

    def __post_init__(self) -> None:
        """Price the block as it stands."""
        self.price()

    @property
    def cost(self) -> int:
        """Additions and deletions of the whole block."""
        return int(self.costs.sum())

    def price(self) -> None:
        """Recount everything from the labels; called after every change of `group`."""
        n = len(self.group)
        inside = np.zeros((self.slots, n), self.X.dtype)
        inside[self.group, np.arange(n)] = 1
        self.ones = inside @ self.X
        self.size = inside.sum(1)
        self.costs = group_costs(self.ones, self.size, self.operations)
        self.costs[0] = self.ones[0].sum()
        base, weight = entry_prices(self.ones, self.size, self.operations)
        saved, relief = exit_prices(self.ones, self.size, self.operations)
        base[self.size == 0] = np.inf
        base[0], weight[0] = (np.inf if self.operations == "additions" else 0), 1
        saved[0], relief[0] = 0, 1
        self.add = base + self.X @ weight.T
        self.leave = saved[self.group] + np.einsum("ij,ij->i", self.X, relief[self.group])
        self.seats = np.zeros((self.slots, int(self.users.max()) + 1), np.int64)
        np.add.at(self.seats, (self.group, self.users), 1)
        self.may_leave = (self.group == 0) | ~self.sole | (self.n_users[self.group] > self.k)

    @property
    def n_users(self) -> Ints:
        """Distinct users of each group."""
        counts: Ints = np.count_nonzero(self.seats, axis=1)
        return counts

    @property
    def sole(self) -> Bools:
        """Whether a record is the only one of its user in its group."""
        alone: Bools = self.seats[self.group, self.users] == 1
        return alone

    def replace(self) -> Floats:
        """Cost of group(i) taking in j in place of i, for all pairs, less its cost now."""
        ones = self.ones[self.group] - self.X
        size = self.size[self.group] - 1
        base, weight = entry_prices(ones, size, self.operations)
        out = self.group == 0
        base[out], weight[out] = 0, 1
        change = base[:, None] + weight @ self.X.T - self.leave[:, None]
        # A withdrawn record leaves nobody behind, whoever is withdrawn in its place.
        still = self.n_users[self.group] - self.sole
        comes = self.seats[self.group][:, self.users] == 0
        comes |= self.sole[:, None] & (self.users[:, None] == self.users)
        short = (still[:, None] + comes < self.k) & ~out[:, None]
        change[short | (self.group[:, None] == self.group)] = np.inf
        return change


def block_of(records: Records, labels: Ints, k: int, operations: Operations) -> Block:
    """Lay out some records as a block, with a spare group for each that could be opened.

    Items that no center in the block can hold are left out: each occurrence is deleted, come
    what may, and so changes no comparison between groupings.
    """
    items, support = np.unique(records.items, return_counts=True)
    least = {"both": k // 2 + 1, "deletions": k, "additions": 1}[operations]
    keep = np.zeros(records.width, np.bool_)
    keep[items[support >= least]] = True
    held = records.keep_items(keep)
    matrix = dense(held)
    if matrix.size > EXACT_CELLS:
        matrix = matrix.astype(np.float64)
    first, _, _ = held.distinct
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


def entry_prices(ones: Floats, size: Floats, operations: Operations) -> tuple[Floats, Floats]:
    """Base and weight per item, so that taking in S costs `base + sum of weight over S`."""
    s = size[:, None]
    if operations == "additions":
        union = ones > 0
        return union.sum(1).astype(ones.dtype), (s + 1) * ~union - 1
    if operations == "deletions":
        core = ones == s
        return size * core.sum(1), 1 - (s + 1) * core
    # An item that half of the group holds costs the same kept or deleted: it is free to enter.
    more, tie = 2 * ones > s, 2 * ones == s
    return more.sum(1).astype(ones.dtype), (1 - 2 * more - tie).astype(ones.dtype)


def exit_prices(ones: Floats, size: Floats, operations: Operations) -> tuple[Floats, Floats]:
    """Base and weight per item, so that losing S saves `base + sum of weight over S`."""
    s = size[:, None]
    if operations == "additions":
        return (ones > 0).sum(1).astype(ones.dtype), (s - 1) * (ones == 1) - 1
    if operations == "deletions":
        nearly = ones == s - 1
        return (size - 1) * nearly.sum(1) - (ones == s).sum(1), 1 - (s - 1) * nearly
    more, tie = 2 * ones > s, 2 * ones == s
    return (more | tie).sum(1).astype(ones.dtype), (1 - 2 * more - tie).astype(ones.dtype)
