"""Algorithm 1: replace each group of records by its majority record.

Paper:      section 4, Algorithm 1, Propositions 1 and 2; section 3 for the restricted problems.
Guarantee:  the cheapest center of each group; at most half of the stars that the group costs as
            a suppression, so Cost(S_flip) <= Cost(S_*) as in the proof of Theorem 1.
Complexity: O(N log N) for N item occurrences; the bit vectors are never built.
Deviation:  a group with an empty center is withdrawn; groups with equal centers are merged.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, dense_ranks, offsets_of, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import WITHDRAWN, Cost
from setanon_core.params import Operations

COUNTING_FACTOR: Final = 16
"""Labels up to this many times the number of records are counted in an array; larger are sorted."""


def flip(sets: Sets, labels: Ints, operations: Operations = "both") -> tuple[Ints, Sets]:
    """Return the row number of each record's center, and the centers.

    >>> sets = Sets(np.array([0, 1, 0, 2, 0]), np.array([0, 2, 4, 5]))
    >>> labels, centers = flip(sets, np.array([7, 7, 7]))
    >>> labels.tolist(), centers.items.tolist()
    ([0, 0, 0], [0])
    """
    return merge_equal_centers(*group_centers(sets, labels, operations))


def group_centers(sets: Sets, labels: Ints, operations: Operations) -> tuple[Ints, Sets]:
    """Number the groups by label; return the number of each record's group, and their centers."""
    groups, sizes = _number_groups(labels)
    cells, ones = count_ones(sets, groups)
    center_cells = cells[_in_center(ones, sizes[cells // max(sets.width, 1)], operations)]
    return groups, _sets_of_cells(center_cells, len(sizes), sets.width)


def flip_cost(sets: Sets, labels: Ints, operations: Operations = "both") -> Cost:
    """Cost of the groups with the centers of `flip`, without building the centers.

    >>> flip_cost(Sets(np.array([0, 1, 0]), np.array([0, 2, 3])), np.array([7, 7]))
    Cost(additions=0, deletions=1, withdrawals=0)
    """
    groups, sizes = _number_groups(labels)
    cells, ones = count_ones(sets, groups)
    group = cells // max(sets.width, 1)
    in_center = _in_center(ones, sizes[group], operations)
    nonempty = np.zeros(len(sizes), np.bool_)
    nonempty[group[in_center]] = True
    return Cost(
        additions=int((sizes[group[in_center]] - ones[in_center]).sum()),
        deletions=int(len(sets.items) - ones[in_center].sum()),
        withdrawals=int(len(labels) - sizes[nonempty].sum()),
    )


def _number_groups(labels: Ints) -> tuple[Ints, Ints]:
    """Number the groups 0, 1, ... by label: the number for each record, and the group sizes."""
    members = np.flatnonzero(labels != WITHDRAWN)
    numbers = labels[members]
    if len(numbers) and (numbers.min() < 0 or numbers.max() > COUNTING_FACTOR * len(labels)):
        numbers, _ = dense_ranks(numbers)
    sizes = np.bincount(numbers)
    groups = np.full(len(labels), WITHDRAWN)
    groups[members] = (np.cumsum(sizes > 0) - 1)[numbers]
    return groups, sizes[sizes > 0]


def _in_center(ones: Ints, size: Ints, operations: Operations) -> Bools:
    """Whether the center contains an item that `ones` of the `size` members contain."""
    if operations == "both":
        # Line 5 of Algorithm 1 is strict: on a tie the 1's are flipped.
        return 2 * ones > size
    return np.ones(len(ones), np.bool_) if operations == "additions" else ones == size


def count_ones(sets: Sets, groups: Ints) -> tuple[Ints, Ints]:
    """Count 1's by group and item: cells `group * width + item`, ascending, and their counts."""
    group = groups[sets.rows]
    inside = group != WITHDRAWN
    cells = np.sort(group[inside] * max(sets.width, 1) + sets.items[inside])
    first = np.flatnonzero(run_starts(cells))
    return cells[first], np.diff(first, append=len(cells))


def _sets_of_cells(cells: Ints, n: int, width: int) -> Sets:
    """Decode ascending cells `row * width + item` as n sets."""
    rows = cells // max(width, 1)
    sizes = np.bincount(rows, minlength=n)
    return Sets.unchecked(items=cells - rows * width, offsets=offsets_of(sizes))


def merge_equal_centers(groups: Ints, centers: Sets) -> tuple[Ints, Sets]:
    """Merge groups with equal centers, sort the centers by `Sets.ranks`, drop empty centers."""
    row_of_group, merged = merged_rows(centers)
    return row_of_group[groups], merged


def merged_rows(centers: Sets) -> tuple[Ints, Sets]:
    """The row of each center after merging, then `WITHDRAWN` for index -1; and the merged centers.

    >>> rows, merged = merged_rows(Sets(np.array([4, 2, 4]), np.array([0, 1, 2, 3, 3])))
    >>> rows.tolist(), merged.items.tolist()
    ([1, 0, 1, -1, -1], [2, 4])
    """
    if len(centers) == 0:
        return np.array([WITHDRAWN]), centers
    first, _, ranks = centers.distinct
    nonempty = centers.sizes[first] > 0
    row_of_rank = np.full(len(first), WITHDRAWN)
    row_of_rank[nonempty] = np.arange(nonempty.sum())
    # The appended value is at index -1: withdrawn records stay withdrawn.
    return np.append(row_of_rank[ranks], WITHDRAWN), centers.take(first[nonempty])
