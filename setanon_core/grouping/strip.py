"""Remove the items and records that no solution can publish, before grouping.

Paper:      none for owners; Lemma 0 of docs/paper.md for majorities.
Guarantee:  exact: every solution deletes these items and withdraws these records, so removing
            them changes the optimum by a constant.
Complexity: O(N log N) for N item occurrences.
Deviation:  k owners: an item that fewer than `min_owners` users of the complete data contain is
            never published. Empty records are withdrawn and counted.
"""

from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.params import Params


@dataclass(frozen=True, slots=True, eq=False)
class Stripped:
    """The records that remain to be grouped, and the cost of the removal."""

    records: Records
    positions: Ints
    """Position of each remaining record in the input."""

    cost: int
    """Deleted item occurrences; every solution deletes them."""

    empty: int
    """Records that were empty in the input."""

    barred: int
    """Records withdrawn because deletions are not allowed and an item has too few owners."""

    @property
    def withdrawn(self) -> int:
        """Number of records removed."""
        return self.empty + self.barred


def strip(
    records: Records, params: Params, owners: Ints | None = None, rare: Bools | None = None
) -> Stripped:
    """Remove unpublishable items, and the records that cannot be published without them.

    `owners` is the number of users for each item; default: counted in `records`. `rare` is
    `never_majority` of all records, if these are a part of them.
    """
    publishable = (count_owners(records) if owners is None else owners) >= params.required_owners
    if params.operations == "additions":
        # Items cannot be deleted, so a record with an unpublishable item is withdrawn.
        barred = np.unique(records.rows[~publishable[records.items]])
        positions = np.setdiff1d(np.flatnonzero(records.sizes > 0), barred)
        remaining = records.take(positions)
    else:
        barred = np.empty(0, np.int64)
        positions = np.flatnonzero(records.sizes > 0)
        keep = publishable & ~(never_majority(records, params) if rare is None else rare)
        # Most data have no empty record: then there is nothing to copy.
        nonempty = records if len(positions) == len(records) else records.take(positions)
        remaining = nonempty.keep_items(keep)
    return Stripped(
        records=Records.from_checked_sets(remaining, records.users[positions], records.vocabulary),
        positions=positions,
        cost=len(records.items) - len(remaining.items),
        empty=int((records.sizes == 0).sum()),
        barred=len(barred),
    )


def count_owners(records: Records) -> Ints:
    """Number of distinct users for each item."""
    width = max(records.width, 1)
    users = records.users[records.rows].astype(np.int64, copy=False)
    pairs = sorted_unique(users * width + records.items)
    return np.bincount(pairs % width, minlength=width)


def never_majority(records: Records, params: Params) -> Bools:
    """Lemma 0: items too rare to be in the center of any group of k users.

    With deletions only, or typed combinations, at least k users have each item of a center.
    """
    if needs_owners(params):
        return rare_items(count_owners(records), params)
    return rare_items(np.bincount(records.items, minlength=max(records.width, 1)), params)


def needs_owners(params: Params) -> bool:
    """Whether `never_majority` counts the users of an item, or the records that contain it."""
    return params.operations == "deletions" or params.combinations == "typed"


def rare_items(counts: Ints, params: Params) -> Bools:
    """`never_majority`, given the number of users or of records for each item."""
    if params.operations == "additions":
        return np.zeros(len(counts), np.bool_)
    return counts < params.k if needs_owners(params) else 2 * counts <= params.k
