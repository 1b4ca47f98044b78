"""Candidate members for new groups: the available records that contain an itemset, cheapest first.

The saving of a record is |S| less its cost in its present group. A record with a low saving loses
little when it leaves that group.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.itemsets import Itemsets

TRIES: Final = 2
"""Candidates of each kind that may complete a group, in multiples of k."""

NO_CANDIDATE: Final = int(np.iinfo(np.int32).max)
"""Least saving where there is no candidate."""


class CandidateRecords:
    """Records ordered by saving, for each distinct set; distinct sets likewise, for each itemset.

    Set `unavailable[i]` to exclude record i from then on.
    """

    def __init__(
        self, distinct: DistinctSets, itemsets: Itemsets, saving: Ints, may_leave: Bools
    ) -> None:
        """Sort the records that may leave their groups by their savings there."""
        self.may_leave = may_leave
        movable = np.flatnonzero(may_leave)
        ranks = distinct.ranks[movable]
        order = np.lexsort((saving[movable], ranks))
        records = movable[order]
        offsets = np.searchsorted(ranks[order], np.arange(len(distinct.sets) + 1))
        min_saving_of_set = np.full(len(distinct.sets), NO_CANDIDATE, np.int32)
        nonempty = np.diff(offsets) > 0
        min_saving_of_set[nonempty] = saving[records[offsets[:-1][nonempty]]]
        supersets = np.empty_like(itemsets.supersets)
        for itemset, chunk in itemsets.chunks():
            sets = itemsets.supersets[chunk]
            supersets[chunk] = sets[np.lexsort((min_saving_of_set[sets], itemset))]
        first_superset = supersets[itemsets.superset_offsets[:-1]]
        self.min_saving: Ints = min_saving_of_set[first_superset].astype(np.int64)
        """Least saving among the initial candidates of each itemset."""

        self.min_saving_of_set = min_saving_of_set
        """Least saving among the initial candidates of each distinct set."""

        self.unavailable = bytearray(len(saving))
        # Memoryviews: faster than arrays for reading single elements.
        self._saving, self._min_saving_of_set = saving.data, min_saving_of_set.data
        self._records, self._record_stop = records.data, offsets[1:].data
        self._record_start = offsets[:-1].copy().data
        self._supersets, self._superset_stop = supersets.data, itemsets.superset_offsets[1:].data
        self._superset_start = itemsets.superset_offsets[:-1].copy().data

    def containing(self, itemset: int, max_saving: int) -> Iterator[int]:
        """Yield the available records that contain the itemset and save at most `max_saving`."""
        all_exhausted = True
        for position in range(self._superset_start[itemset], self._superset_stop[itemset]):
            s = self._supersets[position]
            if self._min_saving_of_set[s] > max_saving:
                return
            if self._skip_unavailable(s):
                all_exhausted = False
                yield from self._with_set(s, max_saving)
            elif all_exhausted:
                self._superset_start[itemset] = position + 1

    def _skip_unavailable(self, s: int) -> bool:
        """Advance the start of a set's records past unavailable ones; whether any is left."""
        position, stop = self._record_start[s], self._record_stop[s]
        while position < stop and self.unavailable[self._records[position]]:
            position += 1
        self._record_start[s] = position
        return position < stop

    def _with_set(self, s: int, max_saving: int) -> Iterator[int]:
        for i in self._records[self._record_start[s] : self._record_stop[s]]:
            if self._saving[i] > max_saving:
                return
            if not self.unavailable[i]:
                yield i


class Fillers:
    """Records that complete a new group, and what they lose there."""

    def __init__(self, candidates: CandidateRecords, saving: Ints, k: int) -> None:
        """Use the candidates in the order of their savings, which are those of `candidates`."""
        self.candidates, self.saving = candidates, saving.data
        self.withdrawn: list[int] = []
        """Withdrawn records that may complete a group of which they contain no item."""

        self._limit = TRIES * k

    def by_loss(self, size: int, itemsets: tuple[int, ...], gain: int) -> list[tuple[int, int]]:
        """Pairs (loss, record) of records that lose less than `gain`, least loss first.

        `size` is that of the center, the first of the itemsets; the others lack one item of it.
        """
        unavailable = self.candidates.unavailable
        pairs = []
        for position, c in enumerate(itemsets):
            # Saving at the center: a record that lacks one item keeps one less and adds one.
            new_saving = size - 2 * (position > 0)
            able = self.candidates.containing(c, new_saving + gain - 1)
            pairs += [(self.saving[i] - new_saving, i) for i in islice(able, self._limit)]
        if size < gain:
            while self.withdrawn and unavailable[self.withdrawn[-1]]:
                self.withdrawn.pop()
            able = (i for i in reversed(self.withdrawn) if not unavailable[i])
            pairs += [(size, i) for i in islice(able, self._limit)]
        return sorted(pairs)
