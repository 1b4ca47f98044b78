"""Algorithm 1: turn each group of records into one record, by majority.

Paper:      section 4, Algorithm 1, Propositions 1 and 2; section 3 for the restricted problems.
Guarantee:  the cheapest center of each group; at most half of the stars that the group costs as
            a suppression, so Cost(S_flip) <= Cost(S_*) as in the proof of Theorem 1.
Complexity: O(N log N) for N item occurrences; the bit vectors are never built.
Deviation:  a center may be empty, and its group is then withdrawn; groups that flip to the same
            center become one.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, dense_ranks, offsets_of, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN, Cost
from setanon_core.params import Operations

MANY: Final = 16
"""Numbers of groups, in multiples of the records, up to which they are counted unsorted."""


def flip(sets: Sets, labels: Ints, operations: Operations = "both") -> tuple[Ints, Sets]:
    """Return the center of each group, and for each record the row of its center.

    >>> sets = Sets(np.array([0, 1, 0, 2, 0]), np.array([0, 2, 4, 5]))
    >>> labels, centers = flip(sets, np.array([7, 7, 7]))
    >>> labels.tolist(), centers.items.tolist()
    ([0, 0, 0], [0])
    """
    rows, sizes = _numbered(labels)
    cells, ones = _ones(sets, rows)
    chosen = cells[_majority(ones, sizes[cells // max(sets.width, 1)], operations)]
    centers = _sets(chosen, len(sizes), sets.width)
    return _merge(rows, centers)


def flip_cost(sets: Sets, labels: Ints, operations: Operations = "both") -> Cost:
    """What the groups cost with their centers, without making these.

    >>> flip_cost(Sets(np.array([0, 1, 0]), np.array([0, 2, 3])), np.array([7, 7]))
    Cost(additions=0, deletions=1, withdrawals=0)
    """
    rows, sizes = _numbered(labels)
    cells, ones = _ones(sets, rows)
    group = cells // max(sets.width, 1)
    chosen = _majority(ones, sizes[group], operations)
    filled = np.zeros(len(sizes), np.bool_)
    filled[group[chosen]] = True
    return Cost(
        additions=int((sizes[group[chosen]] - ones[chosen]).sum()),
        deletions=int(len(sets.items) - ones[chosen].sum()),
        withdrawals=int(len(labels) - sizes[filled].sum()),
    )


def _numbered(labels: Ints) -> tuple[Ints, Ints]:
    """Groups numbered from 0, for each record, and their sizes."""
    members = np.flatnonzero(labels != WITHDRAWN)
    numbers = labels[members]
    if len(numbers) and (numbers.min() < 0 or numbers.max() > MANY * len(labels)):
        numbers, _ = dense_ranks(numbers)
    sizes = np.bincount(numbers)
    rows = np.full(len(labels), WITHDRAWN)
    rows[members] = (np.cumsum(sizes > 0) - 1)[numbers]
    return rows, sizes[sizes > 0]


def _majority(ones: Ints, size: Ints, operations: Operations) -> npt.NDArray[np.bool_]:
    """Which items a center has, of those that its group holds."""
    if operations == "both":
        # Line 5 is strict: as many 1's as 0's flips the 1's.
        return 2 * ones > size
    return np.ones(len(ones), np.bool_) if operations == "additions" else ones == size


def _ones(sets: Sets, rows: Ints) -> tuple[Ints, Ints]:
    """Count 1's by group and item: cells `group * width + item` in order, and their counts."""
    owner = rows[sets.rows]
    inside = owner != WITHDRAWN
    cells = np.sort(owner[inside] * max(sets.width, 1) + sets.items[inside])
    first = np.flatnonzero(run_starts(cells))
    return cells[first], np.diff(first, append=len(cells))


def _sets(cells: Ints, n: int, width: int) -> Sets:
    rows = cells // max(width, 1)
    sizes = np.bincount(rows, minlength=n)
    return Sets.unchecked(items=cells - rows * width, offsets=offsets_of(sizes))


def _merge(rows: Ints, centers: Sets) -> tuple[Ints, Sets]:
    """Give groups with equal centers one row, in the order of the sets; drop empty centers."""
    if len(centers) == 0:
        return rows, centers
    first, _, ranks = centers.distinct
    filled = centers.sizes[first] > 0
    target = np.full(len(first), WITHDRAWN)
    target[filled] = np.arange(filled.sum())
    moved = np.append(target[ranks], WITHDRAWN)
    return moved[rows], centers.take(first[filled])
