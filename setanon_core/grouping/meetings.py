"""Which sets meet in an item, and in how many.

Paper:      none; counted for the nearest-neighbour bound.
Guarantee:  exact, apart from users with more than OWN_LIMIT sets, whose own sets are not listed.
Complexity: O(pairs that meet).
Deviation:  none.
"""

from typing import Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.grouping.matrices import sparse
from setanon_core.sets import Ints, Sets, bounds_of

OWN_LIMIT: Final = 256
"""Sets of one user up to which they are compared with each other."""


def meetings(matrix: csr_array, rows: Ints, *, near_only: bool) -> tuple[Ints, Ints, Ints]:
    """List (row, set, items shared); if `near_only`, only sets that share most of their items."""
    met = matrix[rows] @ matrix.T
    near = 2 * met.data > np.diff(matrix.indptr)[met.indices]
    listed = np.flatnonzero(near | (not near_only))
    row = np.searchsorted(met.indptr, listed, side="right") - 1
    return row, met.indices[listed].astype(np.int64), met.data[listed].astype(np.int64)


def own_meetings(sets: Sets, users: Ints) -> tuple[Ints, Ints, Ints]:
    """List the pairs of sets of one user of which the second shares most of its items."""
    numbers = np.bincount(users)[users]
    kept = ((numbers > 1) & (numbers <= OWN_LIMIT))[sets.rows]
    keys = users[sets.rows[kept]] * sets.width + sets.items[kept]
    sizes = np.bincount(sets.rows[kept], minlength=len(sets))
    matrix = sparse(Sets(np.unique(keys, return_inverse=True)[1], bounds_of(sizes)))
    i, j, overlap = meetings(matrix, np.arange(len(sets)), near_only=True)
    return i[i != j], j[i != j], overlap[i != j]
