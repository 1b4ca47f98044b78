"""Visits: records that may be served better at another place go there.

In the first visit a record is compared with the centers of all its places and moves to the nearest
one. In the second visit, withdrawn records and those that their group can spare go to one other
place each, where they may open new groups together with the records of that place.

Paper:      none; visits recover the loss between clusters that section 5.2 accepts.
Guarantee:  never raises the cost; every group keeps k users. Centers are fixed during a visit, and
            a group is counted without the members that are away, so the gains of all places add
            up; recomputing majority centers afterwards only lowers the cost.
Complexity: that of `reassign` and `reopen` for the records of each place.
Deviation:  not in the paper. No groups are opened before the first visit: groups opened earlier
            take members that fit better elsewhere (measured: 0.1 points of retained items).
"""

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.narrow import widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.improve.membership import Membership
from setanon_core.grouping.improve.reassign import compare_with_centers
from setanon_core.grouping.improve.reopen import open_centers
from setanon_core.grouping.mined_records import MinedRecords, min_center_support
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params
from setanon_core.partition.place_columns import renumber_items
from setanon_core.runtime.column_files import StoredColumns

Comparison = tuple[StoredColumns, Params]
"""Arguments of `compare_at_place`: items and offsets of the sets, their savings, items and offsets
of the centers of the place; parameters."""

Visit = tuple[StoredColumns, Params, int]
"""Arguments of `reopen_at_place`: items, offsets, users, rows and savings of the records;
parameters; number of centers of the place."""


def compare_at_place(comparison: Comparison) -> tuple[Ints, Ints]:
    """The nearest center of a place for each set, and the saving there."""
    stored, params = comparison
    items, offsets, saving, center_items, center_offsets = stored.take()
    sets, centers = renumber_items(
        Sets.unchecked(items=items, offsets=offsets),
        Sets.unchecked(items=center_items, offsets=center_offsets),
    )
    return compare_with_centers(sets, widen(saving), centers, params)


def reopen_at_place(visit: Visit) -> Ints:
    """Open new groups among the records of a place and its visitors; return their rows.

    `rows` are those of the centers of this place, or `WITHDRAWN` for withdrawn records and for
    visitors. Rows of new groups follow those of the centers. `savings` of visitors are those in
    their own groups: a visitor that would save less here is used only if the new group pays for it.
    """
    stored, params, n_centers = visit
    items, offsets, users, rows, saving = stored.take()
    (sets,) = renumber_items(Sets.unchecked(items=items, offsets=offsets))
    local = Records.from_checked_sets(sets, widen(users))
    mined = MinedRecords.from_records(local, min_center_support(params))
    return open_centers(mined, widen(rows), widen(saving), params, n_centers)


def destinations(
    choices: npt.NDArray[np.int16], sizes: npt.NDArray[np.int8], here: Ints, saving: Ints
) -> Ints:
    """The place that each record may visit, or `here`.

    `choices` are the places of its homes, best first, and `sizes` what it can save there. It is
    the first one, other than `here`, that may save more than `saving`.
    """
    could_save_more = sizes > np.maximum(saving, 0)[:, None]
    is_open = could_save_more & (choices != here[:, None])
    first = choices[np.arange(len(here)), is_open.argmax(axis=1)]
    return np.where(is_open.any(axis=1), first, here)


def spare_records(records: Records, rows: Ints, wanted: Bools, gain: Ints, k: int) -> Bools:
    """Of the wanted records, those that can leave their groups together, greatest gain first.

    Every group keeps k users without them. Withdrawn records can always leave.
    """
    spare: Bools = wanted & (rows == WITHDRAWN)
    membership = Membership(records, rows, k)
    published = np.flatnonzero(wanted & (rows != WITHDRAWN) & membership.may_leave)
    for i in published[np.argsort(-gain[published], kind="stable")].tolist():
        spare[i] = membership.leave(i)
    return spare
