"""Settle the crowds: of a set that very many users share whole, a few records are enough to group.

Paper:      none; identical records are a k-anonymous group that costs nothing.
Guarantee:  a settled record costs nothing, and its group has k users. That enough of them stay in
            play for all other groups is a heuristic: a solution that needs more is not found.
Complexity: O(N log N) for N item occurrences.
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.params import Params

KEPT_IN_PLAY: Final = 8
"""Users of a set, in multiples of k, that stay in play in any case."""


def settled_duplicates(records: Records, params: Params) -> npt.NDArray[np.bool_]:
    """Mark the records that need no grouping: those of k users or more beyond what is in play."""
    first, _, ranks = records.distinct
    place, users = user_ranks(ranks, records.users)
    demand = _demand(records.take(first), users[first] < params.k)
    in_play = KEPT_IN_PLAY * params.k + (params.k - 1) * demand[ranks]
    return (users >= in_play + params.k) & (place >= in_play) & (records.sizes > 0)


def _demand(distinct: Sets, poor: npt.NDArray[np.bool_]) -> Ints:
    """For each distinct set, how many sets of too few users could want it, at most.

    Who completes a group cheaply holds the same items: a set is wanted by no more poor sets than
    hold its least wanted item. Each wants k - 1 users of it at most.
    """
    short = distinct.items[poor[distinct.rows]]
    wanted = np.bincount(short, minlength=distinct.width)[distinct.items]
    demand = np.zeros(len(distinct), np.int64)
    filled = distinct.sizes > 0
    if filled.any():
        demand[filled] = np.minimum.reduceat(wanted, distinct.offsets[:-1][filled])
    return demand
