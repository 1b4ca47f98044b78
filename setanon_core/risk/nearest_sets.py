"""Find the sets at the least distance from other sets.

Paper:      none.
Guarantee:  exact.
Complexity: O(sets with a common item) per sought set.
Deviation:  none.
"""

from typing import Final

import numpy as np
from scipy import sparse

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets

NEAREST_BATCH: Final = 64
"""Sought sets that are compared at once."""


def nearest_sets(sets: Sets, sought: Sets, weights: Ints | None = None) -> tuple[Ints, Ints]:
    """All pairs (position in `sought`, position in `sets`) at the least distance of the sought set.

    The distance is the weight of the items that one of both has; without `weights`, which has a
    weight per item number, their number. Sets without a common item are no candidates.

    >>> sets = Sets(np.array([1, 2, 1, 3]), np.array([0, 2, 4]))
    >>> [pairs.tolist() for pairs in nearest_sets(sets, Sets(np.array([1, 3]), np.array([0, 2])))]
    [[0], [1]]
    """
    width = max(sets.width, sought.width, 1)
    if weights is None:
        weights = np.ones(width, np.int64)
    weighed = _matrix(sets, width, weights)
    wanted = _matrix(sought, width, np.ones(width, np.int64))
    total, total_sought = weighed @ np.ones(width, np.int64), wanted @ weights[:width]
    holders = weighed.T.tocsr()
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for low in range(0, len(sought), NEAREST_BATCH):
        common = (wanted[low : low + NEAREST_BATCH] @ holders).tocoo()
        row, column = common.row.astype(np.int64), common.col.astype(np.int64)
        distance = total_sought[low + row] + total[column] - 2 * common.data
        least = np.full(NEAREST_BATCH, np.iinfo(np.int64).max)
        np.minimum.at(least, row, distance)
        nearest = distance == least[row]
        rows.append(low + row[nearest])
        found.append(column[nearest])
    return np.concatenate(rows), np.concatenate(found)


def _matrix(sets: Sets, width: int, weights: Ints) -> sparse.csr_matrix:
    return sparse.csr_matrix(
        (weights[sets.items], sets.items, sets.offsets), shape=(len(sets), width)
    )
