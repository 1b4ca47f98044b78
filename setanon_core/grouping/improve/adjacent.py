"""Find the centers that differ from a set in at most one item, by comparing sums of hashes.

Paper:      none; used to reassign records.
Guarantee:  every such pair is returned. A false pair has probability 2^-64.
Complexity: O(N log N) for N item occurrences of sets and centers.
Deviation:  none.
"""

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, mix64
from setanon_core.columns.sets import Sets

Hashes = npt.NDArray[np.uint64]


def adjacent(sets: Sets, for_equal: Ints, for_adjacent: Ints, centers: Sets) -> tuple[Ints, Ints]:
    """Return pairs (set number, center number).

    Pairs are equal for the sets in `for_equal`, and differ in one item for those in `for_adjacent`.
    """
    set_hash, center_hash = _set_hashes(sets), _set_hashes(centers)
    subset = sets.take(for_adjacent)
    center_numbers = np.arange(len(centers))
    pairs = [
        _join(for_equal, set_hash[for_equal], center_numbers, center_hash),
        # The set has one item more than the center; then the center one more than the set.
        _join(for_adjacent[subset.rows], _hashes_without_item(subset), center_numbers, center_hash),
        _join(for_adjacent, set_hash[for_adjacent], centers.rows, _hashes_without_item(centers)),
    ]
    row, center = map(np.concatenate, zip(*pairs, strict=True))
    return row, center


def _join(left: Ints, left_hash: Hashes, right: Ints, right_hash: Hashes) -> tuple[Ints, Ints]:
    """All pairs of a number in `left` and one in `right` with equal hashes."""
    order = np.argsort(right_hash)
    ascending = right_hash[order]
    low = np.searchsorted(ascending, left_hash)
    matches = np.searchsorted(ascending, left_hash, side="right") - low
    return np.repeat(left, matches), right[order[concat_ranges(low, matches)]]


def _item_hashes(sets: Sets) -> Hashes:
    return mix64(sets.items.astype(np.uint64) + np.uint64(1))


def _set_hashes(sets: Sets) -> Hashes:
    """Sum of the item hashes of each set, modulo 2^64."""
    sums = np.append(np.uint64(0), np.cumsum(_item_hashes(sets)))
    return np.diff(sums[sets.offsets])


def _hashes_without_item(sets: Sets) -> Hashes:
    """For each item occurrence, the hash of its set without this item."""
    return _set_hashes(sets)[sets.rows] - _item_hashes(sets)
