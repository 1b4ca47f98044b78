"""Open more centers for records that their groups can spare, wherever they are.

A new center takes in the records that save more there than where they are. If these are fewer than
k users, others fill it up for as little as possible: holders of the center who gain nothing,
records that lack one item of it, or withdrawn ones.

Paper:      none; the re-star of what is left over and of surplus misfits.
Guarantee:  never costs more than what it was given; every group keeps k users.
Complexity: O(entries * log entries) after the mining of the itemsets, and a few steps for each
            center that could pay.
Deviation:  not in the paper. Centers are itemsets that a majority of k records holds, the most
            promising first. What a record saves is counted against centers that stand still, so
            that all moves add up; majority centers afterwards only lower the cost.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.candidates import NO_CANDIDATE, CandidateRecords
from setanon_core.grouping.improve.membership import Membership
from setanon_core.grouping.improve.reassign import saved_by
from setanon_core.grouping.itemsets import Itemsets, frequent_itemsets
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params
from setanon_core.runtime.progress import with_progress

TRIES: Final = 2
"""Fillers of each kind that a center asks, in multiples of k, before it gives up."""


def reopen(records: Records, labels: Ints, params: Params) -> Ints:
    """Open the itemsets that would save most, each for k users or more who can come."""
    if params.operations == "additions":
        return labels
    rows, centers = flip(records, labels, params.operations)
    saved = saved_by(records, rows, centers)
    seats = Membership(records, rows, params.k)
    crowd = DistinctSets(records)
    majority = params.k // 2 + 1 if params.operations == "both" else params.k
    found = frequent_itemsets(crowd.sets, crowd.weights, majority)
    if len(found.sets) == 0:
        return labels
    fillers = CandidateRecords(crowd, found, saved, seats.may_leave)
    gains = _Gains(crowd, found, saved, fillers)
    host = _Host(records.users, saved, seats, fillers, params.k)
    if params.operations == "both":
        host.withdrawn = np.flatnonzero(rows == WITHDRAWN).tolist()
    moved = rows.copy()
    spare = len(centers)
    for c, near in _promising(found, gains, fillers, host, params):
        comers = host.comers(int(found.sets.sizes[c]), gains.of(c), (c, *near))
        if comers:
            moved[comers] = spare
            spare += 1
    return moved


class _Gains:
    """Who would save more at an itemset than where they are, and how much; the most first."""

    def __init__(
        self, crowd: DistinctSets, found: Itemsets, saved: Ints, fillers: CandidateRecords
    ) -> None:
        n = len(found.sets)
        self.number, self.total = np.zeros((2, n), np.int64)
        records, gains = [], []
        for every, part in found.parts():
            sizes = found.sets.sizes[every]
            # Records are laid out only for the sets of which one could gain: there may be many.
            some = sizes > fillers.least_of_set[found.holders[part]]
            itemset, holders = every[some], found.holders[part][some]
            itemset, record = np.repeat(itemset, crowd.weights[holders]), crowd.members(holders)
            gain = found.sets.sizes[itemset] - saved[record]
            comes = (gain > 0) & fillers.may_come[record]
            itemset, record, gain = itemset[comes], record[comes], gain[comes]
            order = np.lexsort((-gain, itemset))
            self.number += np.bincount(itemset, minlength=n)
            self.total += np.bincount(itemset, gain, minlength=n).astype(np.int64)
            records.append(record[order].astype(np.int32))
            gains.append(gain[order].astype(np.int32))
        self._records, self._gains = np.concatenate(records).data, np.concatenate(gains).data
        self._bounds = offsets_of(self.number).data

    def of(self, c: int) -> Iterator[tuple[int, int]]:
        """Records and their gains."""
        those = slice(self._bounds[c], self._bounds[c + 1])
        return zip(self._records[those], self._gains[those], strict=True)


def _promising(
    found: Itemsets, gains: _Gains, fillers: CandidateRecords, host: "_Host", params: Params
) -> Iterator[tuple[int, list[int]]]:
    """The itemsets that could pay, the best first, with their subsets of one item less."""
    some = np.flatnonzero(gains.number)
    size = found.sets.sizes[some]
    near = np.full((len(some), 0), -1)
    loss = np.maximum(fillers.least[some] - size, 0)
    if params.operations == "both":
        near = found.without_one(some)
        lacking = np.where(near < 0, NO_CANDIDATE, fillers.least[near]).min(1, initial=NO_CANDIDATE)
        loss = np.minimum(loss, lacking - (size - 2))
        if host.withdrawn:
            loss = np.minimum(loss, size)
    most = gains.total[some] - np.maximum(params.k - gains.number[some], 0) * loss
    order = np.argsort(-most, kind="stable")
    order = order[most[order] > 0]
    for at in with_progress("centers reopened", order.tolist()):
        yield int(some[at]), [c for c in near[at].tolist() if c >= 0]


class _Host:
    """Calls records to a new center, and lets them go back if it does not pay."""

    def __init__(
        self, users: Ints, saved: Ints, seats: Membership, fillers: CandidateRecords, k: int
    ) -> None:
        self.users, self.saved = users.data, saved.data
        self.seats, self.fillers, self.k, self.tries = seats, fillers, k, TRIES * k
        self.gone = fillers.gone
        self.withdrawn: list[int] = []
        """Who may be called although nothing of the center is held."""

    def comers(
        self, size: int, gainers: Iterator[tuple[int, int]], itemsets: tuple[int, ...]
    ) -> list[int]:
        """Who comes to a center of this size: all that gain, and others to make up k users."""
        asked = [(i, gain) for i, gain in gainers if not self.gone[i]]
        come = {i: gain for i, gain in asked if self.seats.leave(i)}
        if come:
            asked += self._fill(size, itemsets, come)
        pays = len({self.users[i] for i in come}) >= self.k and sum(come.values()) > 0
        for i in come:
            if pays:
                self.gone[i] = True
            else:
                self.seats.rejoin(i)
        for i, _ in asked:
            # Groups only shrink: who must stay now must always stay.
            if self.seats.must_stay(i):
                self.gone[i] = True
        return list(come) if pays else []

    def _fill(
        self, size: int, itemsets: tuple[int, ...], come: dict[int, int]
    ) -> list[tuple[int, int]]:
        """Call others, if there are fewer than k users, and return all that were asked."""
        met = {self.users[i] for i in come}
        asked: list[tuple[int, int]] = []
        if len(met) >= self.k:
            return asked
        for loss, i in self._others(size, itemsets, sum(come.values())):
            asked.append((i, -loss))
            if self.users[i] not in met and self.seats.leave(i):
                come[i] = -loss
                met.add(self.users[i])
                if len(met) == self.k:
                    break
        return asked

    def _others(self, size: int, itemsets: tuple[int, ...], gain: int) -> list[tuple[int, int]]:
        """Who else could come and what that costs, less than what is gained, the cheapest first."""
        found = []
        for at, c in enumerate(itemsets):
            worth = size - 2 * (at > 0)  # what a record would save at the center
            able = self.fillers.of(c, worth + gain - 1)
            found += [(self.saved[i] - worth, i) for i in islice(able, self.tries)]
        if size < gain:
            while self.withdrawn and self.gone[self.withdrawn[-1]]:
                self.withdrawn.pop()
            able = (i for i in reversed(self.withdrawn) if not self.gone[i])
            found += [(size, i) for i in islice(able, self.tries)]
        return sorted(found)
