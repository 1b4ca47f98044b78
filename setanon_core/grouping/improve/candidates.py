"""Records that could come to an itemset, the cheapest first, while others come and go."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.itemsets import Itemsets
from setanon_core.grouping.matrices import Bools

NO_CANDIDATE: Final = int(np.iinfo(np.int32).max)
"""What coming costs where nobody can come."""


class CandidateRecords:
    """Lines of records, for each distinct set and for each itemset; who is gone leaves them."""

    def __init__(self, crowd: DistinctSets, found: Itemsets, saved: Ints, may_come: Bools) -> None:
        """Put the records that may come into line, by what they save where they are."""
        self.may_come = may_come
        some = np.flatnonzero(may_come)
        ranks = crowd.ranks[some]
        order = np.lexsort((saved[some], ranks))
        line, bounds = some[order], np.searchsorted(ranks[order], np.arange(len(crowd.sets) + 1))
        of_set = np.full(len(crowd.sets), NO_CANDIDATE, np.int32)
        filled = np.diff(bounds) > 0
        of_set[filled] = saved[line[bounds[:-1][filled]]]
        holders = np.empty_like(found.holders)
        for itemset, part in found.parts():
            own = found.holders[part]
            holders[part] = own[np.lexsort((of_set[own], itemset))]
        self.least: Ints = of_set[holders[found.bounds[:-1]]].astype(np.int64)
        """For each itemset, the least that somebody saves who could come to it."""

        self.least_of_set = of_set
        """The same for each distinct set."""

        self.gone = bytearray(len(saved))
        # One record is asked for at a time, and views are quicker at that than arrays.
        self._saved, self._of_set = saved.data, of_set.data
        self._line, self._stop = line.data, bounds[1:].data
        self._next = bounds[:-1].copy().data
        self._holders, self._last = holders.data, found.bounds[1:].data
        self._first = found.bounds[:-1].copy().data

    def of(self, itemset: int, most: int) -> Iterator[int]:
        """The records that hold the itemset and save at most so much where they are."""
        first = True
        for at in range(self._first[itemset], self._last[itemset]):
            s = self._holders[at]
            if self._of_set[s] > most:
                return
            if self._advance(s):
                first = False
                yield from self._of(s, most)
            elif first:
                self._first[itemset] = at + 1

    def _advance(self, s: int) -> bool:
        """Step over those at the head of a set's line who are gone; whether anybody is left."""
        at, stop = self._next[s], self._stop[s]
        while at < stop and self.gone[self._line[at]]:
            at += 1
        self._next[s] = at
        return at < stop

    def _of(self, s: int, most: int) -> Iterator[int]:
        for i in self._line[self._next[s] : self._stop[s]]:
            if self._saved[i] > most:
                return
            if not self.gone[i]:
                yield i
