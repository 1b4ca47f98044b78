"""Halve the records by one item after the other, as Mondrian does with attributes.

Paper:      none; LeFevre, DeWitt and Ramakrishnan's multidimensional partitioning, with items
            for attributes. It forms groups where only additions are allowed.
Guarantee:  none; heuristic. Every group has k users, and nothing is withdrawn.
Complexity: O(N log N * depth) for N item occurrences.
Deviation:  not in the paper.
"""

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges
from setanon_core.columns.records import Records
from setanon_core.model.groups import Grouping
from setanon_core.params import Params


def halving(records: Records, params: Params) -> Grouping:
    """Split by the item that comes nearest to halving a group, while both halves have k users."""
    labels = np.zeros(len(records), np.int64)
    parts = [np.arange(len(records))]
    number = 0
    while parts:
        part = parts.pop()
        holders = _half(records, part, params.k)
        if holders is None:
            labels[part] = number
            number += 1
        else:
            parts += [part[holders], part[~holders]]
    return Grouping(labels)


def _half(
    records: Records, part: Ints, k: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Which records of the part hold the dividing item; None if no item divides it."""
    if len(part) < 2 * k:
        return None
    sizes = records.sizes[part]
    inside = records.items[concat_ranges(records.offsets[part], sizes)]
    rows = np.repeat(np.arange(len(part)), sizes)
    items, ones = np.unique(inside, return_counts=True)
    smaller = np.minimum(ones, len(part) - ones)
    for j in np.argsort(-smaller, kind="stable"):
        if smaller[j] < k:
            return None
        holders = np.zeros(len(part), np.bool_)
        holders[rows[inside == items[j]]] = True
        if all(_users(records, part[side]) >= k for side in (holders, ~holders)):
            return holders
    return None


def _users(records: Records, positions: Ints) -> int:
    if records.n_users == len(records):
        return len(positions)
    return len(np.unique(records.users[positions]))
