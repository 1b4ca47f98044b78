"""Settle the crowds: of a set that very many users share whole, a few records are enough to group.

Paper:      none; identical records are a k-anonymous group that costs nothing.
Guarantee:  a settled record costs nothing, and its group has k users. That `IN_PLAY` times k
            users of each set are enough for all other groups is a heuristic: a solution that
            needs more of them is not found.
Complexity: O(n log n).
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.params import Params
from setanon_core.records import Records
from setanon_core.users import nth_users

IN_PLAY: Final = 8
"""Users of a set, in multiples of k, that stay in play: to be members of other groups."""


def settled(records: Records, params: Params) -> npt.NDArray[np.bool_]:
    """Mark the records that need no grouping: those of at least k users beyond `IN_PLAY` * k."""
    place, users = nth_users(records.ranks(), records.users)
    crowded = users >= (IN_PLAY + 1) * params.k
    return crowded & (place >= IN_PLAY * params.k) & (records.sizes > 0)
