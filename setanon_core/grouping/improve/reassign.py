"""Attach and reassign: send every record to the nearest center that is safe already.

Paper:      none; the loss between clusters is what section 5.2 leaves on the table.
Guarantee:  never costs more than what it was given; every group keeps k users.
Complexity: O(N log N) a round for N item occurrences, and O(pairs) for the sets that could gain
            much, pairs = (distinct set, center) with an item in common, one of the rarest that a
            center must have to be nearer than the present one.
Deviation:  not in the paper. Centers stand still during a round, so that all its moves add up;
            majority centers afterwards only lower the cost.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Ints, run_starts
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.flip import flip
from setanon_core.grouping.improve.adjacent import adjacent
from setanon_core.grouping.improve.membership import Membership
from setanon_core.grouping.matrices import sparse
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params
from setanon_core.runtime.progress import report_progress

ROUNDS: Final = 1
"""Later rounds move one record in a hundred thousand."""

ADJACENT: Final = 2
"""What a set could gain, at most, for which it is compared with adjacent centers only."""

RECORDS: Final = 1 << 18
"""Records that are compared with their centers at once."""

PAIRS: Final = 2_000_000
"""Pairs of a set and a center held in memory at once."""


def reassign(records: Records, labels: Ints, params: Params) -> Ints:
    """Attach withdrawn records and reassign published ones while it pays."""
    if params.operations == "additions":
        return labels  # the union that a newcomer needs is not a center that stands still
    first, _, ranks = records.distinct
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
    Only centers that save more than `least` are looked for.
    """
    # Withdrawal saves nothing, and is always there.
    least = np.zeros(len(sets), np.int64) if least is None else np.maximum(least, 0)
    target = np.full(len(sets), WITHDRAWN)
    saved = np.zeros(len(sets), np.int64)
    # Who differs in d items saves |S| - d: most sets gain from a center that is adjacent, or not.
    slack = sets.sizes - least
    met = chain(
        _adjacent(sets, np.flatnonzero((slack > 0) & (slack <= ADJACENT)), slack, centers),
        _meetings(sets, np.flatnonzero(slack > ADJACENT), slack, centers),
    )
    for row, c, kept in met:
        value = 2 * kept - centers.sizes[c]
        if params.operations == "deletions":
            value[kept < centers.sizes[c]] = -1
        # One number holds both: the most saved first, then the lowest center.
        key = value * len(centers) + (len(centers) - 1 - c)
        starts = np.flatnonzero(run_starts(row))
        best, back = np.divmod(np.maximum.reduceat(key, starts), len(centers))
        good = best > least[row[starts]]
        rows = row[starts[good]]
        target[rows], saved[rows] = len(centers) - 1 - back[good], best[good]
    return target, saved


Meetings = Iterator[tuple[Ints, Ints, Ints]]
"""Some sets, in order; a center for each time that a set is named; and the items they share."""


def _adjacent(sets: Sets, rows: Ints, slack: Ints, centers: Sets) -> Meetings:
    """Sets and all centers that differ in fewer items than the slack, which is small."""
    row, c = adjacent(sets, rows, rows[slack[rows] == ADJACENT], centers)
    order = np.argsort(row, kind="stable")
    row, c = row[order], c[order]
    width = max(sets.width, centers.width)
    if len(row):
        yield row, c, _shared(sparse(sets.take(row), width), sparse(centers.take(c), width))


def _meetings(sets: Sets, rows: Ints, slack: Ints, centers: Sets) -> Meetings:
    """Sets and all centers that may differ in fewer items than the slack.

    Such a center cannot miss all of that many items: it has one of the rarest.
    """
    some, most = sets.take(rows), slack[rows]
    width = max(sets.width, centers.width)
    holders = np.bincount(centers.items, minlength=width)
    rare = _place(some, holders) < most[some.rows]
    work = np.bincount(some.rows[rare], holders[some.items[rare]], minlength=len(some))
    cuts = np.flatnonzero(np.diff((np.cumsum(work) // PAIRS).astype(np.int64))) + 1
    table = sparse(centers, width)
    by_item = table.T.tocsr()
    rarest, others = (sparse(some.filter_occurrences(mask), width) for mask in (rare, ~rare))
    common_items = np.diff(others.indptr)
    for part in np.split(np.arange(len(some)), cuts):
        report_progress(
            "sets taken to their nearest centers", int(part[0]) if len(part) else 0, len(some)
        )
        common = rarest[part] @ by_item
        row = np.repeat(part, np.diff(common.indptr))
        c, kept = common.indices.astype(np.int64), common.data.astype(np.int64)
        # Most are too far away, whatever else they hold.
        apart = some.sizes[row] + centers.sizes[c] - 2 * (kept + common_items[row])
        near = np.flatnonzero(apart < most[row])
        row, c, kept = row[near], c[near], kept[near]
        if len(row):
            yield rows[row], c, kept + _shared(others[row], table[c])


def _shared(left: csr_array, right: csr_array) -> Ints:
    """How many items two matrices have in common, row by row."""
    return np.asarray(left.multiply(right).sum(axis=1), np.int64).ravel()


def _place(sets: Sets, holders: Ints) -> Ints:
    """The place of each item in its set, from 0, those with fewest holders first."""
    order = np.lexsort((holders[sets.items], sets.rows))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - sets.offsets[:-1][sets.rows]
    return place


def saved_by(records: Records, rows: Ints, centers: Sets) -> Ints:
    """What each record saves at its own center: |S| less its cost there."""
    table = sparse(centers, records.width)
    every = np.flatnonzero(rows != WITHDRAWN)
    saved = np.zeros(len(records), np.int64)
    for start in range(0, len(every), RECORDS):
        some = every[start : start + RECORDS]
        kept = _shared(sparse(records.take(some), records.width), table[rows[some]])
        saved[some] = 2 * kept - centers.sizes[rows[some]]
    return saved


def _move(records: Records, rows: Ints, target: Ints, gain: Ints, k: int) -> Ints | None:
    """Make the moves that gain, best first, while k users stay behind; None if none is made."""
    wish = np.flatnonzero((gain > 0) & (target != rows))
    seats = Membership(records, rows, k)
    moved = rows.copy()
    for i in wish[np.argsort(-gain[wish], kind="stable")].tolist():
        if seats.leave(i):
            moved[i] = target[i]
    return moved if (moved != rows).any() else None
