"""Cost of an anonymization: the flips between records and their centers.

Paper:      Definitions 2 and 3, Proposition 1: additions and deletions are flips.
Guarantee:  exact.
Complexity: O(N log N) for N item occurrences.
Deviation:  withdrawing a record costs |S_i| deletions.
"""

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN, Cost


def cost_of(sets: Sets, labels: Ints, centers: Sets) -> Cost:
    """Count additions, deletions and withdrawals; `labels` are row numbers of `centers`.

    >>> cost_of(Sets(np.array([0, 1, 0]), np.array([0, 2, 3])), np.array([0, 0]),
    ...         Sets(np.array([0, 1]), np.array([0, 2])))
    Cost(additions=1, deletions=0, withdrawals=0)
    """
    published = labels != WITHDRAWN
    center = labels[sets.rows]
    inside = center != WITHDRAWN
    width = max(sets.width, centers.width)
    occurrences = np.sort(center[inside] * width + sets.items[inside])
    center_cells = centers.rows * width + centers.items
    # Both arrays ascend, so consecutive binary searches touch neighbouring memory.
    first = np.searchsorted(occurrences, center_cells)
    kept = (np.searchsorted(occurrences, center_cells, "right") - first).sum()
    return Cost(
        additions=int(centers.sizes[labels[published]].sum() - kept),
        deletions=int(len(sets.items) - kept),
        withdrawals=int((~published).sum()),
    )
