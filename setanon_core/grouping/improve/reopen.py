"""Open additional centers for records that their groups can spare.

A new center takes the records that save more there than in their present groups. If these have
fewer than k users, other records complete the group at the least loss: records that contain the
center and gain nothing, records that lack one item of it, or withdrawn records.

Paper:      none; the star greedy, repeated for leftover and surplus records.
Guarantee:  never raises the cost; every group keeps k users.
Complexity: O(entries * log entries) after mining, entries as in `itemsets`, and a few steps for
            each center that could pay.
Deviation:  not in the paper. Centers are itemsets that a majority of k records contains, greatest
            possible gain first. Savings are computed for fixed centers, so that the gains of all
            moves add up; recomputing majority centers afterwards only lowers the cost.
"""

from collections.abc import Iterator

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.candidates import NO_CANDIDATE, CandidateRecords, Fillers
from setanon_core.grouping.improve.membership import Membership
from setanon_core.grouping.improve.reassign import savings
from setanon_core.grouping.itemsets import Itemsets
from setanon_core.grouping.mined_records import min_center_support, mine
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params
from setanon_core.runtime.progress import with_progress


def reopen(records: Records, labels: Ints, params: Params) -> Ints:
    """Open the itemsets with the greatest gains, each for at least k users that can leave."""
    if params.operations == "additions":
        return labels
    rows, centers = flip(records, labels, params.operations)
    return open_centers(records, rows, savings(records, rows, centers), params, len(centers))


def open_centers(
    records: Records, rows: Ints, saving: Ints, params: Params, next_label: int
) -> Ints:
    """Return `rows` with new labels, from `next_label` on, for the members of new groups.

    `saving` is what each record saves if it stays: at its center or, for a record without a center
    in `rows`, anywhere else. 0: withdrawn.
    """
    membership = Membership(records, rows, params.k)
    distinct, itemsets = mine(records, min_center_support(params))
    if len(itemsets.sets) == 0:
        return rows
    candidates = CandidateRecords(distinct, itemsets, saving, membership.may_leave)
    gains = _Gains(distinct, itemsets, saving, candidates)
    fillers = Fillers(candidates, saving, params.k)
    if params.operations == "both":
        fillers.withdrawn = np.flatnonzero((rows == WITHDRAWN) & (saving == 0)).tolist()
    builder = _GroupBuilder(records.users, membership, fillers, params.k)
    moved = rows.copy()
    for c, subsets in _promising_centers(itemsets, gains, fillers, params):
        members = builder.members(int(itemsets.sets.sizes[c]), gains.of(c), (c, *subsets))
        if members:
            moved[members] = next_label
            next_label += 1
    return moved


class _Gains:
    """For each itemset, the records that save more there than now, greatest gain first."""

    def __init__(
        self,
        distinct: DistinctSets,
        itemsets: Itemsets,
        saving: Ints,
        candidates: CandidateRecords,
    ) -> None:
        n = len(itemsets.sets)
        self.number, self.total = np.zeros((2, n), np.int64)
        records, gains = [], []
        for numbers, chunk in itemsets.chunks():
            # Expand only the sets with a record that gains: there may be very many records.
            supersets = itemsets.supersets[chunk]
            can_gain = itemsets.sets.sizes[numbers] > candidates.min_saving_of_set[supersets]
            itemset, supersets = numbers[can_gain], supersets[can_gain]
            itemset = np.repeat(itemset, distinct.weights[supersets])
            record = distinct.records_of(supersets)
            gain = itemsets.sets.sizes[itemset] - saving[record]
            gains_here = (gain > 0) & candidates.may_leave[record]
            itemset, record, gain = itemset[gains_here], record[gains_here], gain[gains_here]
            order = np.lexsort((-gain, itemset))
            self.number += np.bincount(itemset, minlength=n)
            self.total += np.bincount(itemset, gain, minlength=n).astype(np.int64)
            records.append(record[order].astype(np.int32))
            gains.append(gain[order].astype(np.int32))
        self._records, self._gains = np.concatenate(records).data, np.concatenate(gains).data
        self._offsets = offsets_of(self.number).data

    def of(self, c: int) -> Iterator[tuple[int, int]]:
        """Pairs (record, gain)."""
        part = slice(self._offsets[c], self._offsets[c + 1])
        return zip(self._records[part], self._gains[part], strict=True)


def _promising_centers(
    itemsets: Itemsets,
    gains: _Gains,
    fillers: Fillers,
    params: Params,
) -> Iterator[tuple[int, list[int]]]:
    """Yield the itemsets that could pay, greatest possible gain first, and their subsets.

    The subsets have one item less: their supersets may lack one item of the center.
    """
    chosen = np.flatnonzero(gains.number)
    size = itemsets.sets.sizes[chosen]
    subsets = np.full((len(chosen), 0), -1)
    # Least loss of a record that completes the group, over the kinds of such records.
    loss = np.maximum(fillers.candidates.min_saving[chosen] - size, 0)
    if params.operations == "both":
        subsets = itemsets.subsets_without_one_item(chosen)
        lacking_one = np.where(subsets < 0, NO_CANDIDATE, fillers.candidates.min_saving[subsets])
        loss = np.minimum(loss, lacking_one.min(1, initial=NO_CANDIDATE) - (size - 2))
        if fillers.withdrawn:
            loss = np.minimum(loss, size)
    max_gain = gains.total[chosen] - np.maximum(params.k - gains.number[chosen], 0) * loss
    order = np.argsort(-max_gain, kind="stable")
    order = order[max_gain[order] > 0]
    for position in with_progress("centers reopened", order.tolist()):
        yield int(chosen[position]), [c for c in subsets[position].tolist() if c >= 0]


class _GroupBuilder:
    """Collects the members of a new group; restores the membership if the group does not pay."""

    def __init__(self, users: Ints, membership: Membership, fillers: Fillers, k: int) -> None:
        self.users = users.data  # a memoryview: faster than arrays for reading single elements
        self.membership, self.fillers, self.k = membership, fillers, k
        self.unavailable = fillers.candidates.unavailable

    def members(
        self, size: int, gainers: Iterator[tuple[int, int]], itemsets: tuple[int, ...]
    ) -> list[int]:
        """All records that gain, and others up to k users; empty if the group does not pay.

        `size` is that of the center; `itemsets` are the center and its subsets of one item less.
        """
        tried = [(i, gain) for i, gain in gainers if not self.unavailable[i]]
        members = {i: gain for i, gain in tried if self.membership.leave(i)}
        if members:
            tried += self._complete(size, itemsets, members)
        pays = len({self.users[i] for i in members}) >= self.k and sum(members.values()) > 0
        for i in members:
            if pays:
                self.unavailable[i] = True
            else:
                self.membership.rejoin(i)
        for i, _ in tried:
            # Groups only shrink: a record that must stay now can never leave.
            if self.membership.must_stay(i):
                self.unavailable[i] = True
        return list(members) if pays else []

    def _complete(
        self, size: int, itemsets: tuple[int, ...], members: dict[int, int]
    ) -> list[tuple[int, int]]:
        """Add other records to `members` until it has k users; return all records tried."""
        member_users = {self.users[i] for i in members}
        tried: list[tuple[int, int]] = []
        if len(member_users) >= self.k:
            return tried
        for loss, i in self.fillers.by_loss(size, itemsets, sum(members.values())):
            tried.append((i, -loss))
            if self.users[i] not in member_users and self.membership.leave(i):
                members[i] = -loss
                member_users.add(self.users[i])
                if len(member_users) == self.k:
                    break
        return tried
