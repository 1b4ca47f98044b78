"""List the pairs of sets that share items, and how many.

Paper:      none; used for the nearest-neighbour bound.
Guarantee:  exact, except users with more than USER_SETS_LIMIT sets, whose pairs are not listed.
Complexity: O(pairs of sets that share an item).
Deviation:  none.
"""

from typing import Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.grouping.matrices import sparse

SETS_AT_ONCE: Final = 1 << 18
"""Sets that are compared together: bounds memory."""

USER_SETS_LIMIT: Final = 256
"""Sets of one user up to which they are compared with each other."""


def overlapping_pairs(
    matrix: csr_array, transposed: csr_array, rows: Ints, *, near_only: bool
) -> tuple[Ints, Ints, Ints]:
    """List (index into `rows`, set, shared items) for all pairs that share an item.

    If `near_only`, the pair must share more than half of the items of the second set. `transposed`
    is the transposed matrix in CSR format; the caller computes it once for several calls.
    """
    shared = matrix[rows] @ transposed
    is_near = 2 * shared.data > np.diff(matrix.indptr)[shared.indices]
    listed = np.flatnonzero(is_near | (not near_only))
    row = np.searchsorted(shared.indptr, listed, side="right") - 1
    return row, shared.indices[listed].astype(np.int64), shared.data[listed].astype(np.int64)


def overlapping_pairs_within_users(sets: Sets, users: Ints) -> tuple[Ints, Ints, Ints]:
    """List (set, other set of the same user, shared items), ordered by set.

    Only pairs that share more than half of the items of the second set are listed.
    """
    n_sets = np.bincount(users)[users]
    several = np.flatnonzero((n_sets > 1) & (n_sets <= USER_SETS_LIMIT))
    several = several[np.argsort(users[several], kind="stable")]
    starts = np.flatnonzero(np.diff(users[several], prepend=-1))
    starts = starts[np.diff(starts // SETS_AT_ONCE, prepend=-1) > 0]
    empty = np.empty(0, np.int64)
    pairs = [(empty, empty, empty)]
    for part in np.split(several, starts):
        subset = sets.take(part)
        # Items are made distinct per user, so that only sets of one user share any.
        keys = np.unique(users[part][subset.rows] * sets.width + subset.items, return_inverse=True)[
            1
        ]
        matrix = sparse(Sets(keys, subset.offsets))
        i, j, shared = overlapping_pairs(
            matrix, matrix.T.tocsr(), np.arange(len(part)), near_only=True
        )
        differ = i != j
        pairs.append((part[i[differ]], part[j[differ]], shared[differ]))
    i, j, shared = map(np.concatenate, zip(*pairs, strict=True))
    order = np.argsort(i, kind="stable")
    return i[order], j[order], shared[order]
