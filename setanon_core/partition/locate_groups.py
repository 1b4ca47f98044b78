"""Locate each group at the place of its center, where the records that may join it come by.

Paper:      none.
Guarantee:  groups with equal centers have the same place.
Complexity: that of `flip_in_parts`.
Deviation:  not in the paper.
"""

from typing import NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, inverse_permutation
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.params import Params
from setanon_core.partition.content_hashes import set_hashes
from setanon_core.partition.group_parts import flip_in_parts
from setanon_core.partition.plan import Plan
from setanon_core.partition.wishes import NO_ITEM


class LocatedGroups(NamedTuple):
    """Groups with their centers and places."""

    rows: Ints
    """For each record the row of its center, or `WITHDRAWN`."""

    centers: Sets
    places: Ints
    """Place of each center."""

    saving: Ints
    """What each record saves at its center against withdrawal."""


def locate_groups(records: Records, labels: Ints, params: Params, plan: Plan) -> LocatedGroups:
    """Form the center of each group; its place is that of its rarest item."""
    rows, centers, saving = flip_in_parts(records, labels, params.operations)
    places = plan.place_of(rarest_items(centers, plan.item_rank), set_hashes(centers))
    return LocatedGroups(rows, centers, places, saving)


def rarest_items(sets: Sets, item_rank: Ints) -> Ints:
    """The item of lowest rank of each set; -1 for an empty set.

    >>> rarest_items(Sets(np.array([0, 1, 2]), np.array([0, 2, 3])), np.array([2, 0, 1])).tolist()
    [1, 2]
    """
    rarest = np.full(len(sets), NO_ITEM)
    nonempty = np.flatnonzero(sets.sizes)
    if len(nonempty):
        starts = sets.offsets[:-1][nonempty]
        lowest = np.minimum.reduceat(item_rank[sets.items], starts)
        rarest[nonempty] = inverse_permutation(item_rank)[lowest]
    return rarest
