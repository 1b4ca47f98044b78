"""Split the records in two by one item after another, as Mondrian does with attributes.

Paper:      none; LeFevre, DeWitt and Ramakrishnan's multidimensional partitioning, with items
            for attributes. It forms groups if only additions are allowed.
Guarantee:  none; heuristic. Every group has k users, and no record is withdrawn.
Complexity: O(N log N * depth) for N item occurrences.
Deviation:  not in the paper.
"""

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, concat_ranges
from setanon_core.columns.records import Records
from setanon_core.model.groups import Grouping
from setanon_core.params import Params


def halving(records: Records, params: Params) -> Grouping:
    """Split by the item that divides most evenly, while both halves have k users."""
    labels = np.zeros(len(records), np.int64)
    parts = [np.arange(len(records))]
    n_groups = 0
    while parts:
        part = parts.pop()
        containing = _split(records, part, params.k)
        if containing is None:
            labels[part] = n_groups
            n_groups += 1
        else:
            parts += [part[containing], part[~containing]]
    return Grouping(labels)


def _split(records: Records, part: Ints, k: int) -> Bools | None:
    """Which records of the part contain the dividing item; None if no item divides it."""
    if len(part) < 2 * k:
        return None
    sizes = records.sizes[part]
    occurrences = records.items[concat_ranges(records.offsets[part], sizes)]
    rows = np.repeat(np.arange(len(part)), sizes)
    items, ones = np.unique(occurrences, return_counts=True)
    smaller_half = np.minimum(ones, len(part) - ones)
    for j in np.argsort(-smaller_half, kind="stable"):
        if smaller_half[j] < k:
            return None
        containing = np.zeros(len(part), np.bool_)
        containing[rows[occurrences == items[j]]] = True
        if all(_count_users(records, part[half]) >= k for half in (containing, ~containing)):
            return containing
    return None


def _count_users(records: Records, positions: Ints) -> int:
    if records.n_users == len(records):
        return len(positions)
    return len(np.unique(records.users[positions]))
