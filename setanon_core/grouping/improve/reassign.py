"""Assign every record to its nearest existing center, if its group can spare it.

Paper:      none; it recovers the loss between clusters that section 5.2 accepts.
Guarantee:  never raises the cost; every group keeps k users.
Complexity: O(N log N) per round for N item occurrences, and O(pairs) for the sets that could gain
            much; pairs = (distinct set, center) that share one of the rarest items, one of which
            every center nearer than the present one must contain.
Deviation:  not in the paper. Centers are fixed during a round, so that the gains of all moves add
            up; recomputing majority centers afterwards only lowers the cost.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Bools, Ints, run_starts
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
"""Further rounds move one record in a hundred thousand."""

ADJACENT_GAIN: Final = 2
"""Sets that can gain at most this much are compared with adjacent centers only."""

RECORDS_AT_ONCE: Final = 1 << 18
"""Records that are compared with their own centers together: bounds memory."""

PAIRS_AT_ONCE: Final = 2_000_000
"""Pairs (set, center) in memory together."""

Pairs = Iterator[tuple[Ints, Ints, Ints]]
"""Chunks of pairs, ordered by set: set numbers, center numbers, and numbers of shared items."""


def reassign(records: Records, labels: Ints, params: Params) -> Ints:
    """Move withdrawn and published records to nearer centers."""
    if params.operations == "additions":
        return labels  # a new member would change the center, the union of its group
    rows, centers = flip(records, labels, params.operations)
    for _ in range(ROUNDS):
        moved = move_to_nearest(records, rows, centers, params)
        if moved is None:
            break
        rows, centers = flip(records, moved, params.operations)
    return rows


def move_to_nearest(records: Records, rows: Ints, centers: Sets, params: Params) -> Ints | None:
    """Move records to their nearest centers, which do not change; None: no move lowers the cost.

    `rows` has for each record the row of its center, or `WITHDRAWN`; every center keeps k users.
    """
    if len(centers) == 0:
        return None
    saving = savings(records, rows, centers)
    target, target_saving = compare_with_centers(records, saving, centers, params)
    return make_moves(records, rows, target, target_saving - saving, params.k)


def compare_with_centers(
    sets: Sets, saving: Ints, centers: Sets, params: Params
) -> tuple[Ints, Ints]:
    """The center with the greatest saving for each set that saves `saving` now, and this saving.

    Equal sets are compared once. Where no center saves more than now, the result may be a center
    that saves at most as much, or withdrawal.
    """
    first, _, ranks = sets.distinct
    min_saving = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(min_saving, ranks, saving)
    target, target_saving = nearest_centers(sets.take(first), centers, params, min_saving)
    return target[ranks], target_saving[ranks]


def nearest_centers(
    sets: Sets, centers: Sets, params: Params, min_saving: Ints | None = None
) -> tuple[Ints, Ints]:
    """The center with the greatest saving for each set, and this saving; 0 for withdrawal.

    Turning a set S into c keeps |S & c| items and adds |c - S|: it saves |S & c| - |c - S| items
    against withdrawal. Only centers that save more than `min_saving` are considered.
    """
    # Withdrawal saves nothing, and is always possible.
    min_saving = np.zeros(len(sets), np.int64) if min_saving is None else np.maximum(min_saving, 0)
    target = np.full(len(sets), WITHDRAWN)
    saving = np.zeros(len(sets), np.int64)
    # A center at distance d saves |S| - d, so most sets can gain from adjacent centers only.
    max_gain = sets.sizes - min_saving
    small = np.flatnonzero((max_gain > 0) & (max_gain <= ADJACENT_GAIN))
    large = np.flatnonzero(max_gain > ADJACENT_GAIN)
    pairs = chain(
        _pairs_with_adjacent(sets, small, max_gain, centers),
        near_pairs(sets, large, max_gain, centers),
    )
    for row, center, shared in pairs:
        value = 2 * shared - centers.sizes[center]
        if params.operations == "deletions":
            value[shared < centers.sizes[center]] = -1
        # One key for both criteria: greatest saving first, then lowest center number.
        key = value * len(centers) + (len(centers) - 1 - center)
        starts = np.flatnonzero(run_starts(row))
        best, reversed_center = np.divmod(np.maximum.reduceat(key, starts), len(centers))
        better = best > min_saving[row[starts]]
        rows = row[starts[better]]
        target[rows], saving[rows] = len(centers) - 1 - reversed_center[better], best[better]
    return target, saving


def _pairs_with_adjacent(sets: Sets, rows: Ints, max_gain: Ints, centers: Sets) -> Pairs:
    """All pairs at a distance less than `max_gain`, which is at most `ADJACENT_GAIN`."""
    row, center = adjacent(sets, rows, rows[max_gain[rows] == ADJACENT_GAIN], centers)
    order = np.argsort(row, kind="stable")
    row, center = row[order], center[order]
    width = max(sets.width, centers.width)
    if len(row):
        shared = _shared_items(sparse(sets.take(row), width), sparse(centers.take(center), width))
        yield row, center, shared


def near_pairs(sets: Sets, rows: Ints, max_gain: Ints, centers: Sets) -> Pairs:
    """All pairs at a distance less than `max_gain`, and some others.

    A center at a smaller distance cannot lack `max_gain` items of the set: it contains one of the
    `max_gain` rarest items.
    """
    subset, limit = sets.take(rows), max_gain[rows]
    width = max(sets.width, centers.width)
    is_rare, work = _rarest_items(subset, limit, centers)
    cuts = np.flatnonzero(np.diff(np.cumsum(work) // PAIRS_AT_ONCE)) + 1
    center_matrix = sparse(centers, width)
    centers_by_item = center_matrix.T.tocsr()
    rare, other = (sparse(subset.filter_occurrences(mask), width) for mask in (is_rare, ~is_rare))
    n_other = np.diff(other.indptr)
    for part in np.split(np.arange(len(subset)), cuts):
        finished = int(part[0]) if len(part) else 0
        report_progress("sets compared with centers", finished, len(subset))
        product = rare[part] @ centers_by_item
        row = np.repeat(part, np.diff(product.indptr))
        center, shared = product.indices.astype(np.int64), product.data.astype(np.int64)
        # Most pairs are too far apart even if all other items are shared.
        least_distance = subset.sizes[row] + centers.sizes[center] - 2 * (shared + n_other[row])
        near = np.flatnonzero(least_distance < limit[row])
        row, center, shared = row[near], center[near], shared[near]
        if len(row):
            yield rows[row], center, shared + _shared_items(other[row], center_matrix[center])


def count_pairs(sets: Sets, max_gain: Ints, centers: Sets) -> int:
    """Pairs that `near_pairs` compares, counted once for each of the rarest items they share."""
    return int(_rarest_items(sets, max_gain, centers)[1].sum())


def _rarest_items(sets: Sets, limit: Ints, centers: Sets) -> tuple[Bools, Ints]:
    """Whether an item is one of the `limit` rarest of its set; the centers with such an item."""
    n_centers = np.bincount(centers.items, minlength=max(sets.width, centers.width))
    is_rare = _rank_in_set(sets, n_centers) < limit[sets.rows]
    of_set = np.bincount(sets.rows[is_rare], n_centers[sets.items[is_rare]], minlength=len(sets))
    return is_rare, of_set.astype(np.int64)


def _shared_items(left: csr_array, right: csr_array) -> Ints:
    """Number of shared items of two matrices, row by row."""
    return np.asarray(left.multiply(right).sum(axis=1), np.int64).ravel()


def _rank_in_set(sets: Sets, n_centers: Ints) -> Ints:
    """Rank of each item occurrence in its set, from 0, by the number of centers that contain it."""
    order = np.lexsort((n_centers[sets.items], sets.rows))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - sets.offsets[:-1][sets.rows]
    return rank


def savings(records: Records, rows: Ints, centers: Sets) -> Ints:
    """Saving of each record at its own center: |S| less its cost there; 0 if withdrawn."""
    center_matrix = sparse(centers, records.width)
    published = np.flatnonzero(rows != WITHDRAWN)
    saving = np.zeros(len(records), np.int64)
    for start in range(0, len(published), RECORDS_AT_ONCE):
        part = published[start : start + RECORDS_AT_ONCE]
        record_matrix = sparse(records.take(part), records.width)
        shared = _shared_items(record_matrix, center_matrix[rows[part]])
        saving[part] = 2 * shared - centers.sizes[rows[part]]
    return saving


def make_moves(records: Records, rows: Ints, target: Ints, gain: Ints, k: int) -> Ints | None:
    """Make the moves with positive gain, greatest first, while k users remain; None: no move."""
    movable = np.flatnonzero((gain > 0) & (target != rows))
    membership = Membership(records, rows, k)
    moved = rows.copy()
    for i in movable[np.argsort(-gain[movable], kind="stable")].tolist():
        if membership.leave(i):
            moved[i] = target[i]
    return moved if (moved != rows).any() else None
