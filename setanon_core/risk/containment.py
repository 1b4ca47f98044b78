"""Find the sets that contain other sets, by an inverted index.

Paper:      none.
Guarantee:  exact; no hash is compared.
Complexity: O(sum of the sets with the rarest item of each sought set), times the logarithm of the
            number of item occurrences. Memory for `BATCH_PAIRS` pairs, or those of one sought set.
Deviation:  none.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets

BATCH_PAIRS: Final = 1 << 21
"""Pairs of a sought set and a set with its rarest item that are checked at once."""


def find_supersets(sets: Sets, sought: Sets) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs (position in `sought`, position in `sets`) with sought set within set.

    Pairs are sorted, and all pairs of a sought set are in one batch. Every set contains an empty
    sought set.

    >>> sets = Sets(np.array([1, 2, 2, 3]), np.array([0, 2, 4]))
    >>> sought = Sets(np.array([2]), np.array([0, 1]))
    >>> [pairs.tolist() for pairs in next(find_supersets(sets, sought))]
    [[0, 0], [0, 1]]
    """
    width = max(sets.width, sought.width, 1)
    frequency = np.bincount(sets.items, minlength=width)
    # The sets that have each item, ascending, one item after the other.
    holders = sets.rows[np.argsort(sets.items, kind="stable")]
    begins = offsets_of(frequency)
    by_rarity = sought.items[np.lexsort((frequency[sought.items], sought.rows))]
    empty = sought.sizes == 0
    rarest = np.zeros(len(sought), np.int64)
    rarest[~empty] = by_rarity[sought.offsets[:-1][~empty]]
    candidates = np.where(empty, len(sets), frequency[rarest])
    cells = sets.rows * width + sets.items
    everything = np.arange(len(sets))
    for low, high in _batches(candidates):
        counts = candidates[low:high]
        rows = np.repeat(np.arange(low, high), counts)
        found = holders[
            concat_ranges(begins[rarest[low:high]], np.where(empty[low:high], 0, counts))
        ]
        if empty[low:high].any():
            holds_all = np.repeat(empty[low:high], counts)
            found_all = np.empty(len(rows), np.int64)
            found_all[~holds_all] = found
            found_all[holds_all] = np.tile(everything, int(empty[low:high].sum()))
            found = found_all
        # The second rarest item first: it rules out most candidates.
        for nth in range(1, int(sought.sizes[low:high].max(initial=0))):
            has_nth = sought.sizes[rows] > nth
            item = by_rarity[(sought.offsets[:-1][rows] + nth)[has_nth]]
            keep = ~has_nth
            keep[has_nth] = contained(cells, found[has_nth] * width + item)
            rows, found = rows[keep], found[keep]
        yield rows, found


def contained(cells: Ints, wanted: Ints) -> Bools:
    """Whether each wanted number is among the ascending cells."""
    position = np.searchsorted(cells, wanted)
    present = position < len(cells)
    present[present] = cells[position[present]] == wanted[present]
    return present


def _batches(counts: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose counts sum to at most `BATCH_PAIRS`, or single rows."""
    ends = np.cumsum(counts)
    low = 0
    while low < len(counts):
        done = int(ends[low - 1]) if low else 0
        high = max(int(np.searchsorted(ends, done + BATCH_PAIRS, side="right")), low + 1)
        yield low, high
        low = high


def count_users(rows: Ints, users: Ints, n: int) -> Ints:
    """The number of distinct users of each row 0, ..., n - 1.

    >>> count_users(np.array([0, 0, 2]), np.array([7, 7, 5]), 3).tolist()
    [1, 0, 1]
    """
    width = int(users.max(initial=0)) + 1
    pairs = np.sort(rows * width + users)
    distinct = pairs[np.diff(pairs, prepend=-1) > 0]
    return np.bincount(distinct // width, minlength=n)
