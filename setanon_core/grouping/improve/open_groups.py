"""Open itemsets as new centers at prices: groups give up records, are completed, or close.

Paper:      none; opening, and swapping, of facilities in the integer program.
Guarantee:  every group keeps k users. At fixed centers each new group raises the cost by less than
            `TOLERANCE`.
Complexity: O(entries * log entries) for the estimates, entries as in `itemsets`, and the chains of
            the tried groups.
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, run_starts
from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.improve.arcs import Arcs
from setanon_core.grouping.improve.assignment import Assignment, Move
from setanon_core.grouping.improve.candidates import CandidateRecords, Fillers
from setanon_core.grouping.improve.prices import UNREACHED, Prices
from setanon_core.grouping.itemsets import Itemsets
from setanon_core.grouping.mined_records import min_center_support, mine
from setanon_core.params import Params

TOLERANCE: Final = 2
"""A new group may cost less than this at fixed centers: majority centers may save it again."""

MIN_CANDIDATES: Final = 500
RECORDS_PER_CANDIDATE: Final = 40
"""Itemsets that are tried, greatest estimated gain first: the larger of `MIN_CANDIDATES` and the
records divided by this."""

REFRESH: Final = 40
"""New groups after which prices are computed again."""


def open_groups(records: Records, state: Assignment, arcs: Arcs, params: Params, seed: int) -> None:
    """Try the itemsets with the greatest estimated gains as centers of new groups."""
    distinct, itemsets = mine(records, min_center_support(params))
    if len(itemsets.sets) == 0:
        return
    prices = Prices(state, arcs, seed)
    holders = _Holders(state, distinct, itemsets, prices)
    lacking = np.maximum(params.k - holders.number, 0)
    estimate = holders.gain - lacking
    order = np.argsort(-estimate, kind="stable")
    limit = max(MIN_CANDIDATES, len(records) // RECORDS_PER_CANDIDATE)
    order = order[estimate[order] > -TOLERANCE][:limit]
    utility = state.saving + prices.price[state.node]
    candidates = CandidateRecords(distinct, itemsets, utility, np.ones(len(records), np.bool_))
    fillers = Fillers(candidates, utility, params.k)
    subsets = np.full((len(order), 0), -1)
    if params.operations == "both":
        subsets = itemsets.subsets_without_one_item(order)
        withdrawn = state.node == state.withdrawn
        fillers.withdrawn = np.flatnonzero(withdrawn & (utility == 0)).tolist()
    builder = _Builder(records, state, fillers, params.k)
    opened = 0
    for c, smaller in zip(order.tolist(), subsets.tolist(), strict=True):
        size = int(itemsets.sets.sizes[c])
        kinds = (c, *(s for s in smaller if s >= 0))
        opened += builder.open(prices, holders.of(c), size, kinds)
        if opened == REFRESH:
            seed, opened = seed + 1, 0
            prices = Prices(state, arcs, seed)


class _Holders:
    """For each itemset, the records that save more there than now, and the estimated gain."""

    def __init__(
        self, state: Assignment, distinct: DistinctSets, itemsets: Itemsets, prices: Prices
    ) -> None:
        sizes, saving = itemsets.sets.sizes, state.saving
        least = np.full(len(distinct.sets), UNREACHED)
        np.minimum.at(least, distinct.ranks, saving)
        none = np.empty(0, np.int64)
        parts = [(none, none)]
        for numbers, chunk in itemsets.chunks():
            # Expand only the sets with a record that gains: there may be very many records.
            supersets = itemsets.supersets[chunk]
            can_gain = sizes[numbers] > least[supersets]
            itemset, supersets = numbers[can_gain], supersets[can_gain]
            itemset = np.repeat(itemset, distinct.weights[supersets])
            record = distinct.records_of(supersets)
            gains = sizes[itemset] > saving[record]
            parts.append((itemset[gains], record[gains]))
        itemset, self._records = map(np.concatenate, zip(*parts, strict=True))
        self._offsets = np.searchsorted(itemset, np.arange(len(sizes) + 1))
        self.gain, self.number = self._estimate(itemset, sizes[itemset], state, prices)

    def of(self, c: int) -> list[int]:
        """The records of one itemset."""
        holders: list[int] = self._records[self._offsets[c] : self._offsets[c + 1]].tolist()
        return holders

    def _estimate(
        self, itemset: Ints, size: Ints, state: Assignment, prices: Prices
    ) -> tuple[Ints, Ints]:
        """Gain at these prices, and number of gaining records: groups give some, or close."""
        n = len(self._offsets) - 1
        if len(itemset) == 0:
            return np.zeros(n, np.int64), np.zeros(n, np.int64)
        node = state.node[self._records]
        order = np.argsort(itemset * state.n_nodes + node, kind="stable")
        itemset, size, node, record = itemset[order], size[order], node[order], self._records[order]
        starts = np.flatnonzero(run_starts(itemset, node))
        each = np.maximum(size - state.saving[record] - prices.price[node], 0)
        giving = np.add.reduceat(each, starts)
        closing = np.add.reduceat(np.maximum(size - prices.alternative[record], 0), starts)
        closing += prices.closing_gain[node[starts]]
        members = np.diff(starts, append=len(node))
        number = np.where(closing > giving, members, np.add.reduceat(each > 0, starts, dtype=int))
        gain = np.maximum(giving, closing)
        number[gain <= 0] = 0
        sums = (np.bincount(itemset[starts], each, n) for each in (np.maximum(gain, 0), number))
        total, count = (sum_.astype(np.int64) for sum_ in sums)
        return total, count


class _Builder:
    """Builds new groups; a group that does not pay is undone."""

    def __init__(self, records: Records, state: Assignment, fillers: Fillers, k: int) -> None:
        self._state, self._fillers, self._k = state, fillers, k
        self._users = records.users.astype(np.int64).data

    def open(self, prices: Prices, holders: list[int], size: int, kinds: tuple[int, ...]) -> bool:
        """Open a center of `size` items; `kinds` are its itemset and those that lack one item."""
        state = self._state
        mark, before, new = state.mark(), state.gain, state.new_node()
        holders_in: dict[int, list[int]] = {}
        for i in holders:
            if size > state.saving_of[i]:
                holders_in.setdefault(state.node_of[i], []).append(i)
        for group, some in holders_in.items():
            self._take(prices, group, some, new, size)
        loss_limit = state.gain - before + TOLERANCE
        if loss_limit > 0:
            self._complete(prices, new, size, kinds, loss_limit)
        if state.users_in[new] >= self._k and state.gain - before > -TOLERANCE:
            return True
        state.undo(mark)
        return False

    def _take(self, prices: Prices, group: int, holders: list[int], new: int, size: int) -> None:
        """Take holders from a group that is then completed, or closes, whichever gains more."""
        state = self._state
        here = [i for i in holders if state.node_of[i] == group]
        mark, before, if_closed = state.mark(), state.gain, 0
        if group < state.withdrawn and prices.closing_gain[group] > -UNREACHED:
            holds = set(here)
            for i in state.members[group]:
                alternative = prices.alternative_of[i]
                best = max(size, alternative) if i in holds else alternative
                if_closed += best - state.saving_of[i]
        self._join(prices, group, here, new, size)
        gain = state.gain - before
        if if_closed <= gain:
            return
        state.undo(mark)
        for i in here:
            if size >= prices.alternative_of[i]:
                state.move(Move(i, new, size))
        if not prices.disperse(group) or state.gain - before <= gain:
            state.undo(mark)
            self._join(prices, group, here, new, size)

    def _join(self, prices: Prices, group: int, holders: list[int], new: int, size: int) -> None:
        state = self._state
        for i in sorted(holders, key=lambda i: (state.saving_of[i], i)):
            is_tight = state.users_in[group] <= self._k
            too_dear = is_tight and size - state.saving_of[i] <= prices.price_of[group]
            if too_dear or state.node_of[i] != group:
                continue
            mark, before = state.mark(), state.gain
            if prices.join(Move(i, new, size)) and state.gain <= before:
                state.undo(mark)

    def _complete(
        self, prices: Prices, new: int, size: int, kinds: tuple[int, ...], loss_limit: int
    ) -> None:
        """Add the records that lose least, of other users, until the group has k users."""
        state, fillers = self._state, self._fillers
        users = {self._users[i] for i in state.members[new]}
        if len(users) >= self._k:
            return
        for loss, i in fillers.by_loss(size, kinds, loss_limit):
            if state.node_of[i] > state.withdrawn or self._users[i] in users:
                continue
            if prices.join(Move(i, new, fillers.saving[i] - loss)):
                users.add(self._users[i])
                if len(users) == self._k:
                    break
