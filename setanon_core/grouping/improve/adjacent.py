"""Centers that differ from a set in one item, or in none: found by a sum of hashes, not by search.

Paper:      none; used to reassign records.
Guarantee:  every such pair is found; that another one is too is a matter of chance, once in 2^64.
Complexity: O(N log N) for N item occurrences of sets and centers.
Deviation:  none.
"""

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges
from setanon_core.columns.hashing import mix64
from setanon_core.columns.sets import Sets

Sums = npt.NDArray[np.uint64]


def adjacent(sets: Sets, chosen: Ints, further: Ints, centers: Sets) -> tuple[Ints, Ints]:
    """Pairs of a set and a center: equal ones for those chosen; with `further`, one item apart."""
    whole, center = _sums(sets), _sums(centers)
    some = sets.take(further)
    found = [
        _equal(chosen, whole[chosen], np.arange(len(centers)), center),
        # A center that lacks one item of the set; one that has an item more.
        _equal(further[some.rows], _without(some), np.arange(len(centers)), center),
        _equal(further, whole[further], centers.rows, _without(centers)),
    ]
    row, c = map(np.concatenate, zip(*found, strict=True))
    return row, c


def _equal(left: Ints, of_left: Sums, right: Ints, of_right: Sums) -> tuple[Ints, Ints]:
    """Pairs of names on the left and the right whose sums are equal."""
    order = np.argsort(of_right)
    line = of_right[order]
    low = np.searchsorted(line, of_left)
    times = np.searchsorted(line, of_left, side="right") - low
    return np.repeat(left, times), right[order[concat_ranges(low, times)]]


def _hashes(sets: Sets) -> Sums:
    return mix64(sets.items.astype(np.uint64) + np.uint64(1))


def _sums(sets: Sets) -> Sums:
    """One number for each set, whatever the order of its items."""
    sums = np.append(np.uint64(0), np.cumsum(_hashes(sets)))
    return np.diff(sums[sets.offsets])


def _without(sets: Sets) -> Sums:
    """For each item occurrence the number of its set without it."""
    return _sums(sets)[sets.rows] - _hashes(sets)
