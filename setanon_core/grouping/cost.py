"""What an anonymization costs: the flips between records and their centers.

Paper:      Definitions 2 and 3, Proposition 1: additions and deletions are flips.
Guarantee:  exact.
Complexity: O(N log N) for N item occurrences.
Deviation:  a withdrawal costs the whole record in deletions.
"""

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN, Cost


def cost_of(sets: Sets, labels: Ints, centers: Sets) -> Cost:
    """Count additions, deletions and withdrawals; `labels` name rows of `centers`.

    >>> cost_of(Sets(np.array([0, 1, 0]), np.array([0, 2, 3])), np.array([0, 0]),
    ...         Sets(np.array([0, 1]), np.array([0, 2])))
    Cost(additions=1, deletions=0, withdrawals=0)
    """
    published = labels != WITHDRAWN
    owner = labels[sets.rows]
    inside = owner != WITHDRAWN
    width = max(sets.width, centers.width)
    held = np.sort(owner[inside] * width + sets.items[inside])
    wanted = centers.rows * width + centers.items
    # Both are in order: each is looked up next to the one before.
    kept = (np.searchsorted(held, wanted, "right") - np.searchsorted(held, wanted)).sum()
    return Cost(
        additions=int(centers.sizes[labels[published]].sum() - kept),
        deletions=int(len(sets.items) - kept),
        withdrawals=int((~published).sum()),
    )
