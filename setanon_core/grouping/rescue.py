"""Attach and reassign: send every record to the nearest center that is safe already.

Paper:      none; the loss between clusters is what section 5.2 leaves on the table.
Guarantee:  never costs more than what it was given; every group keeps k users.
Complexity: O(pairs) a round, pairs = (distinct set, center) with an item in common, one of the
            rarest that a center must have to be nearer than the present one.
Deviation:  not in the paper. Centers stand still during a round, so that all its moves add up;
            majority centers afterwards only lower the cost.
"""

from typing import Final

import numpy as np

from setanon_core.flip import flip
from setanon_core.grouping.matrices import Bools, sparse
from setanon_core.grouping.seats import Seats
from setanon_core.model import WITHDRAWN
from setanon_core.params import Params
from setanon_core.records import Records
from setanon_core.reporting import report
from setanon_core.sets import Ints, Sets, bounds_of

ROUNDS: Final = 1
"""Later rounds move one record in a hundred thousand."""

PAIRS: Final = 2_000_000
"""Pairs of a set and a center held in memory at once."""


def rescue(records: Records, labels: Ints, params: Params) -> Ints:
    """Attach withdrawn records and reassign published ones while it pays."""
    if params.operations == "additions":
        return labels  # the union that a newcomer needs is not a center that stands still
    first, _, ranks = records.distinct()
    distinct = records.take(first)
    rows, centers = flip(records, labels, params.operations)
    for _ in range(ROUNDS):
        if len(centers) == 0:
            break
        now = saved_by(records, rows, centers)
        least = np.full(len(distinct), np.iinfo(np.int64).max)
        np.minimum.at(least, ranks, now)
        target, saved = nearest_centers(distinct, centers, params, least)
        moved = _move(records, rows, target[ranks], saved[ranks] - now, params.k)
        if moved is None:
            break
        rows, centers = flip(records, moved, params.operations)
    return rows


def nearest_centers(
    sets: Sets, centers: Sets, params: Params, least: Ints | None = None
) -> tuple[Ints, Ints]:
    """For each set the center that saves most of it, and how much that is; 0 is withdrawal.

    Of a set S turned into c, |S & c| items are kept and |c - S| added: |S| less that is the cost.
    Only centers that save more than `least` are looked for: such a center keeps more items than
    that, so it cannot miss all of the |S| - least rarest.
    """
    width = max(sets.width, centers.width)
    holders = np.bincount(centers.items, minlength=width)
    # Withdrawal saves nothing, and is always there.
    at_least = np.zeros(len(sets), np.int64) if least is None else np.maximum(least, 0)
    rare = _place(sets, holders) < (sets.sizes - at_least)[sets.rows]
    work = np.bincount(sets.rows[rare], holders[sets.items[rare]], minlength=len(sets))
    cuts = np.flatnonzero(np.diff((np.cumsum(work) // PAIRS).astype(np.int64))) + 1
    table = sparse(centers, width)
    by_item = table.T.tocsr()
    target = np.full(len(sets), WITHDRAWN)
    saved = np.zeros(len(sets), np.int64)
    rarest, others = (sparse(_only(sets, mask), width) for mask in (rare, ~rare))
    common_items = np.diff(others.indptr)
    for part in np.split(np.arange(len(sets)), cuts):
        report("sets taken to their nearest centers", int(part[0]) if len(part) else 0, len(sets))
        common = rarest[part] @ by_item
        c, kept = common.indices.astype(np.int64), common.data.astype(np.int64)
        if not rare.all():
            row = np.repeat(part, np.diff(common.indptr))
            # Most are too far away, whatever else they hold.
            most = 2 * (kept + common_items[row]) - centers.sizes[c]
            near = np.flatnonzero(most > at_least[row])
            more = others[row[near]].multiply(table[c[near]]).sum(axis=1)
            kept[near] += np.asarray(more).ravel()
        value = 2 * kept - centers.sizes[c]
        if params.operations == "deletions":
            value[kept < centers.sizes[c]] = -1
        # One number holds both: the most saved first, then the lowest center.
        key = value * len(centers) + (len(centers) - 1 - c)
        some = np.diff(common.indptr) > 0
        if not some.any():
            continue
        best, back = np.divmod(np.maximum.reduceat(key, common.indptr[:-1][some]), len(centers))
        rows = part[some]
        good = best > at_least[rows]
        target[rows[good]] = len(centers) - 1 - back[good]
        saved[rows[good]] = best[good]
    return target, saved


def _place(sets: Sets, holders: Ints) -> Ints:
    """The place of each item in its set, from 0, those with fewest holders first."""
    order = np.lexsort((holders[sets.items], sets.rows))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - sets.offsets[:-1][sets.rows]
    return place


def _only(sets: Sets, keep: Bools) -> Sets:
    """The sets without the item occurrences that are not to be kept."""
    return Sets(sets.items[keep], bounds_of(np.bincount(sets.rows[keep], minlength=len(sets))))


def saved_by(records: Records, rows: Ints, centers: Sets) -> Ints:
    """What each record saves at its own center: |S| less its cost there."""
    table = sparse(centers, records.width)
    inside = np.flatnonzero(rows != WITHDRAWN)
    own = sparse(records.take(inside), records.width)
    kept = np.asarray(own.multiply(table[rows[inside]]).sum(axis=1)).ravel()
    saved = np.zeros(len(records), np.int64)
    saved[inside] = 2 * kept - centers.sizes[rows[inside]]
    return saved


def _move(records: Records, rows: Ints, target: Ints, gain: Ints, k: int) -> Ints | None:
    """Make the moves that gain, best first, while k users stay behind; None if none is made."""
    wish = np.flatnonzero((gain > 0) & (target != rows))
    seats = Seats(records, rows, k)
    moved = rows.copy()
    for i in wish[np.argsort(-gain[wish], kind="stable")].tolist():
        if seats.leave(i):
            moved[i] = target[i]
    return moved if (moved != rows).any() else None
