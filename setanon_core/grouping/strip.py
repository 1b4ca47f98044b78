"""Set aside what cannot be published, before anything is grouped.

Paper:      none for owners; Lemma 0 of docs/paper.md for majorities.
Guarantee:  exact: every solution deletes these items and withdraws these records anyway, so the
            optimum of what is left differs from the whole optimum by a constant.
Complexity: O(N log N) for N item occurrences.
Deviation:  k owners: an item that fewer than `min_owners` users of the whole data hold is never
            published. Empty records are withdrawn and counted.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.params import Params


@dataclass(frozen=True, slots=True, eq=False)
class Stripped:
    """What is left to group, and what its removal has cost already."""

    records: Records
    positions: Ints
    """Where each record stood in the input."""

    cost: int
    """Item occurrences that every solution deletes."""

    empty: int
    """Records that held nothing from the start."""

    barred: int
    """Records withdrawn because additions alone cannot hide an item with too few owners."""

    @property
    def withdrawn(self) -> int:
        """Records that are not left."""
        return self.empty + self.barred


def strip(records: Records, params: Params, held: Ints | None = None) -> Stripped:
    """Remove items with too few owners or no hope of a majority, and records without hope.

    `held` is the number of owners of each item, if it is not to be counted here.
    """
    publishable = (count_owners(records) if held is None else held) >= params.required_owners
    if params.operations == "additions":
        # Nothing may be deleted, so a record with such an item cannot be published at all.
        bad = np.unique(records.rows[~publishable[records.items]])
        stay = np.setdiff1d(np.flatnonzero(records.sizes > 0), bad)
        left = records.take(stay)
    else:
        bad = np.empty(0, np.int64)
        stay = np.flatnonzero(records.sizes > 0)
        left = records.take(stay).keep_items(publishable & ~never_majority(records, params))
    return Stripped(
        records=Records.from_checked_sets(left, records.users[stay], records.vocabulary),
        positions=stay,
        cost=len(records.items) - len(left.items),
        empty=int((records.sizes == 0).sum()),
        barred=len(bad),
    )


def count_owners(records: Records) -> Ints:
    """How many users hold each item."""
    width = max(records.width, 1)
    held = sorted_unique(records.users[records.rows] * width + records.items)
    return np.bincount(held % width, minlength=width)


def never_majority(records: Records, params: Params) -> npt.NDArray[np.bool_]:
    """Lemma 0: items too rare for the center of any group of k users."""
    if params.operations == "additions":
        return np.zeros(max(records.width, 1), np.bool_)
    if params.operations == "deletions":
        return count_owners(records) < params.k
    support = np.bincount(records.items, minlength=max(records.width, 1))
    return 2 * support <= params.k
