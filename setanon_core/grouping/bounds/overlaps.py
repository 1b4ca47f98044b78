"""Which sets meet in an item, and in how many.

Paper:      none; counted for the nearest-neighbour bound.
Guarantee:  exact, apart from users with more than OWN_LIMIT sets, whose own sets are not listed.
Complexity: O(pairs that meet).
Deviation:  none.
"""

from typing import Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.grouping.matrices import sparse

SETS_AT_ONCE: Final = 1 << 18
"""Sets, of some users, that are compared in one go."""

OWN_LIMIT: Final = 256
"""Sets of one user up to which they are compared with each other."""


def overlapping_pairs(
    matrix: csr_array, holders: csr_array, rows: Ints, *, near_only: bool
) -> tuple[Ints, Ints, Ints]:
    """List (row, set, items shared); if `near_only`, only sets that share most of their items.

    `holders` is the same matrix with a row for each item: who turns it once need not do it again.
    """
    met = matrix[rows] @ holders
    near = 2 * met.data > np.diff(matrix.indptr)[met.indices]
    listed = np.flatnonzero(near | (not near_only))
    row = np.searchsorted(met.indptr, listed, side="right") - 1
    return row, met.indices[listed].astype(np.int64), met.data[listed].astype(np.int64)


def overlapping_pairs_within_users(sets: Sets, users: Ints) -> tuple[Ints, Ints, Ints]:
    """List the pairs of sets of one user of which the second shares most of its items."""
    numbers = np.bincount(users)[users]
    several = np.flatnonzero((numbers > 1) & (numbers <= OWN_LIMIT))
    several = several[np.argsort(users[several], kind="stable")]
    # Some users after others: a bound for memory.
    starts = np.flatnonzero(np.diff(users[several], prepend=-1))
    starts = starts[np.diff(starts // SETS_AT_ONCE, prepend=-1) > 0]
    none = np.empty(0, np.int64)
    found = [(none, none, none)]
    for part in np.split(several, starts):
        some = sets.take(part)
        keys = np.unique(users[part][some.rows] * sets.width + some.items, return_inverse=True)[1]
        matrix = sparse(Sets(keys, some.offsets))
        i, j, overlap = overlapping_pairs(
            matrix, matrix.T.tocsr(), np.arange(len(part)), near_only=True
        )
        other = i != j
        found.append((part[i[other]], part[j[other]], overlap[other]))
    i, j, overlap = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(i, kind="stable")
    return i[order], j[order], overlap[order]
