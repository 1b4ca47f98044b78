"""Settle the crowds: of a set that very many users share whole, a few records are enough to group.

Paper:      none; identical records are a k-anonymous group that costs nothing.
Guarantee:  a settled record costs nothing, and its group has k users. What stays in play, up to
            `IN_PLAY` times k users of each set, is all that other groups could want of it.
Complexity: O(n log n).
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.params import Params
from setanon_core.records import Records

IN_PLAY: Final = 8
"""Users of a set, in multiples of k, that stay in play: to be members of other groups."""


def settled(records: Records, params: Params) -> npt.NDArray[np.bool_]:
    """Mark the records that need no grouping: those of at least k users beyond `IN_PLAY` * k."""
    n = len(records)
    ranks = records.ranks()
    order = np.lexsort((records.users, ranks))
    rank, user = ranks[order], records.users[order]
    new_set = np.diff(rank, prepend=-1) != 0
    new_user = new_set | (np.diff(user, prepend=-1) != 0)
    seen = np.cumsum(new_user)
    start = np.maximum.accumulate(np.where(new_set, np.arange(n), 0))
    nth = seen - seen[start]
    number = np.cumsum(new_set) - 1
    users = np.bincount(number, new_user)[number]
    done = np.zeros(n, np.bool_)
    done[order] = (users >= (IN_PLAY + 1) * params.k) & (nth >= IN_PLAY * params.k)
    return done & (records.sizes > 0)
