"""Arcs: for each record the nearest centers to which chains may move it.

Paper:      none; the arcs x_ij of the integer program that can be used by a cheap solution.
Guarantee:  savings are exact. Centers farther than `REACH` items beyond the present one, or beyond
            the `NEAREST`, have no arc.
Complexity: O(pairs of a distinct set and a center that share one of the set's rarest items).
Deviation:  not in the paper.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, run_starts
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.improve.reassign import count_pairs, near_pairs, savings
from setanon_core.params import Params

REACH: Final = 2
"""Items that a record may lose when it moves, for the sake of other records of a chain."""

NEAREST: Final = 10
"""Arcs per set, besides withdrawal."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Arcs:
    """Arcs of distinct sets, greatest saving first; those of set s: `offsets[s]:offsets[s + 1]`."""

    ranks: Ints
    """The set of each record."""

    saving: Ints
    """What each record saves at its present center against withdrawal."""

    offsets: Ints
    center: Ints
    """Row of the center; the number of centers is withdrawal."""

    center_saving: Ints

    pairs: int
    """Pairs of a set and a center that were compared; see `count_pairs`."""


def near_arcs(records: Records, rows: Ints, centers: Sets, params: Params) -> Arcs:
    """The arcs of all records; `rows` has the row of each record's center, or `WITHDRAWN`."""
    first, _, ranks = records.distinct
    saving = savings(records, rows, centers)
    least = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(least, ranks, saving)
    sets = records.take(first)
    # Distances below this limit save at least `least - REACH`.
    limit = sets.sizes - least + REACH + 1
    n = len(centers)
    every = np.arange(len(first))
    parts = [(every, np.full(len(first), n), np.zeros(len(first), np.int64))]
    for row, center, shared in near_pairs(sets, np.flatnonzero(sets.sizes > 0), limit, centers):
        value = 2 * shared - centers.sizes[center]
        allowed = value >= least[row] - REACH
        if params.operations == "deletions":
            allowed &= shared == centers.sizes[center]
        parts.append(_greatest(row[allowed], center[allowed], value[allowed]))
    row, center, value = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((center, -value, row))
    sizes = np.bincount(row, minlength=len(first))
    pairs = count_pairs(sets, limit, centers)
    return Arcs(ranks, saving, offsets_of(sizes), center[order], value[order], pairs)


def _greatest(row: Ints, center: Ints, value: Ints) -> tuple[Ints, Ints, Ints]:
    """The arcs of the `NEAREST` greatest values of each row."""
    order = np.lexsort((center, -value, row))
    starts = run_starts(row[order])
    rank = np.arange(len(row)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    kept = order[rank < NEAREST]
    return row[kept], center[kept], value[kept]
