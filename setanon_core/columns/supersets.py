"""Find the sets that contain other sets, by an inverted index.

Paper:      none.
Guarantee:  exact; no hash is compared.
Complexity: O(N log N) for N item occurrences to build the index. A search is O(sum of the sets with
            the rarest item of each sought set), times log N. Memory for `BATCH_PAIRS` pairs, or
            those of one sought set.
Deviation:  none.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets

BATCH_PAIRS: Final = 1 << 21
"""Pairs of a sought set and a set with its rarest item that are checked at once."""


class SupersetIndex:
    """An inverted index of sets: the sets that have each item.

    >>> index = SupersetIndex(Sets(np.array([1, 2, 2, 3]), np.array([0, 2, 4])))
    >>> [pairs.tolist() for pairs in index.find_all(Sets(np.array([2]), np.array([0, 1])))]
    [[0, 0], [0, 1]]
    """

    def __init__(self, sets: Sets) -> None:
        """Sort the occurrences of the items."""
        self._n = len(sets)
        self._width = max(sets.width, 1)
        self._frequency = np.bincount(sets.items, minlength=self._width)
        # The sets that have each item, ascending, one item after the other.
        self._holders = sets.rows[np.argsort(sets.items, kind="stable")]
        self._begins = offsets_of(self._frequency)
        self._cells = sets.rows * self._width + sets.items  # ascending

    def find(self, sought: Sets) -> Iterator[tuple[Ints, Ints]]:
        """Yield all pairs (position in `sought`, position in the sets) with sought set within set.

        Pairs are sorted, and all pairs of a sought set are in one batch. Every set contains an
        empty sought set.
        """
        by_rarity = sought.items[np.lexsort((self._frequency_of(sought.items), sought.rows))]
        empty = sought.sizes == 0
        rarest = np.zeros(len(sought), np.int64)
        rarest[~empty] = by_rarity[sought.offsets[:-1][~empty]]
        candidates = np.where(empty, self._n, self._frequency_of(rarest))
        for low, high in _batches(candidates):
            rows = np.repeat(np.arange(low, high), candidates[low:high])
            found = np.empty(len(rows), np.int64)
            of_empty = empty[rows]
            found[of_empty] = np.tile(np.arange(self._n), int(empty[low:high].sum()))
            found[~of_empty] = self._holders_of(rarest[low:high][~empty[low:high]])
            # The second rarest item first: it rules out most candidates.
            for nth in range(1, int(sought.sizes[low:high].max(initial=0))):
                has_nth = sought.sizes[rows] > nth
                item = by_rarity[(sought.offsets[:-1][rows] + nth)[has_nth]]
                keep = ~has_nth
                # A set with an item that no set has is without candidates: items are below width.
                keep[has_nth] = contained(self._cells, found[has_nth] * self._width + item)
                rows, found = rows[keep], found[keep]
            yield rows, found

    def find_all(self, sought: Sets) -> tuple[Ints, Ints]:
        """Return the pairs of all batches of `find`."""
        batches = list(self.find(sought))
        empty = np.empty(0, np.int64)
        rows = np.concatenate([empty, *(rows for rows, _ in batches)])
        return rows, np.concatenate([empty, *(found for _, found in batches)])

    def _frequency_of(self, items: Ints) -> Ints:
        """Count the sets with each item; 0 for items that no set has."""
        return np.where(items < self._width, self._frequency[np.minimum(items, self._width - 1)], 0)

    def _holders_of(self, items: Ints) -> Ints:
        """The sets that have the first item, those that have the second, and so on."""
        sizes = self._frequency_of(items)
        return self._holders[concat_ranges(self._begins[np.where(sizes > 0, items, 0)], sizes)]


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
