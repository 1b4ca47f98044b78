"""Locate each group at a place, where the records that may join it come by.

Paper:      none.
Guarantee:  groups with equal centers have the same place: they are one group.
Complexity: that of `flip_in_parts`.
Deviation:  not in the paper.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, run_starts
from setanon_core.columns.narrow import widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.params import Params
from setanon_core.partition.group_parts import flip_in_parts
from setanon_core.partition.parts import complete_groups


class LocatedGroups(NamedTuple):
    """Groups with their centers and places."""

    rows: Ints
    """For each record the row of its center, or -1: withdrawn."""

    centers: Sets
    places: npt.NDArray[np.int16]
    """Place of each center."""

    saving: Ints
    """What each record saves at its center against withdrawal."""


def locate_groups(
    records: Records, labels: Ints, params: Params, own: npt.NDArray[np.int16]
) -> LocatedGroups:
    """Form the center of each group; its place is that of most of its members.

    `own` is the place of each record; every member of a group has one.
    """
    rows, centers, saving = flip_in_parts(records, labels, params.operations)
    places = np.zeros(len(centers), np.int16)
    for part in complete_groups(rows):
        center, place, count = _members(widen(rows[part]), widen(own[part]))
        # Written last: most members; of several such places, the first.
        order = np.lexsort((-place, count))
        places[center[order]] = place[order]
    return LocatedGroups(rows, centers, places, saving)


def _members(rows: Ints, own: Ints) -> tuple[Ints, Ints, Ints]:
    """Pairs (center, place), and the members of each."""
    width = int(own.max(initial=0)) + 1
    cells = np.sort(rows * width + own)
    starts = np.flatnonzero(run_starts(cells))
    center, place = np.divmod(cells[starts], width)
    return center, place, np.diff(starts, append=len(cells))
