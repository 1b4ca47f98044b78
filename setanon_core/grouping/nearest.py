"""How far the other users are from each record: counts by distance, never a list of pairs.

Paper:      none; R_j of section 4 is a sum of such distances.
Guarantee:  `nearest` never counts fewer users within a distance than there are, nor `every`
            fewer records; up to PAIRS_LIMIT records both are exact.
Complexity: O(sum of 2^|S_i|) over the distinct sets of moderate size, O(D) for each longer one.
Deviation:  none.

Among many records, overlaps are counted through subsets. Let F_t count the pairs (T, j) with
T a subset of S_i and of S_j, |T| = t. A record that shares o items with S_i has C(o, t) such T,
so by binomial inversion sum_t (-1)^(t-o) C(t, o) F_t records share exactly o. Equal subsets are
matched by sorting; a subset that only one distinct set has is not extended.

Among many records there are limits, each of which only lowers a bound made from the counts: a
user with several different sets counts once for each; what shares at most half of its items with
a long set may be taken to share half; what exceeds LONG_BUDGET is taken to be as near as can be.
"""

from bisect import bisect_left
from collections.abc import Iterator
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.grouping.matrices import sparse
from setanon_core.grouping.meetings import meetings, own_meetings
from setanon_core.params import Operations
from setanon_core.records import Ints, Records, Sets
from setanon_core.sets import spans

Floats = npt.NDArray[np.float64]

PAIRS_LIMIT: Final = 1500
"""Records up to which all pairs are looked at."""

SUBSETS_BUDGET: Final = 12_000_000
SHORT_LIMIT: Final = 16
"""Subsets that may be held, 50 bytes each; and items up to which floats count them exactly."""

LONG_BUDGET: Final = 300_000_000
"""Meetings of a long set with others in a common item that may be counted, in all."""

BLOCK: Final = 4_000_000
"""Meetings held at once."""


class Neighbours(NamedTuple):
    """Counts by distance (columns) around sets (rows) of `sizes` items, for `copies` records each.

    `nearest` counts other users, each at the distance of their nearest record; `every` all other
    records, the user's own included. It is None if no user has two records.
    """

    sizes: Ints
    copies: Ints
    nearest: Ints
    every: Ints | None


def neighbours(records: Records, operations: Operations) -> Iterator[Neighbours]:
    """Yield counts for all records, block by block.

    The distance is |S_i ^ S_j| when both operations are allowed; |S_i - S_j|, the deletions that
    j forces upon i, under deletions; |S_j - S_i| under additions.
    """
    if len(records) <= PAIRS_LIMIT:
        yield from _by_pairs(records, operations)
    else:
        yield from _by_subsets(records, operations)


def _distance(s: Any, z: Any, overlap: Any, operations: Operations) -> Any:  # noqa: ANN401
    """Measure how far a record of s items is from one of z items, given their overlap."""
    if operations == "both":
        return s + z - 2 * overlap
    return s - overlap if operations == "deletions" else z - overlap


def _unlisted(z: Any, operations: Operations) -> Any:  # noqa: ANN401
    """Bound the items that a set of z shares with a long one, if they are not listed to meet."""
    return z // 2 if operations == "both" else 0


def _counts(rows: Ints, distances: Ints, weights: Ints | None, shape: tuple[int, ...]) -> Ints:
    """Sum the weights by row and distance; the last column is for all that are farther."""
    cells = rows * shape[1] + np.minimum(distances, shape[1] - 1)
    sums = np.bincount(cells, weights, minlength=shape[0] * shape[1])
    return np.rint(sums).astype(np.int64).reshape(shape)


def _by_pairs(records: Records, operations: Operations) -> Iterator[Neighbours]:
    n, sizes, users = len(records), records.sizes, records.users
    matrix = sparse(records)
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    names = users[order][starts]
    width = 2 * int(sizes.max(initial=0)) + 1
    for low in range(0, n, 256):
        rows = np.arange(low, min(low + 256, n))
        overlap = (matrix[rows] @ matrix.T).toarray()[:, order]
        distance = _distance(sizes[rows][:, None], sizes[order], overlap, operations)
        least = np.minimum.reduceat(distance, starts, axis=1)
        i, j = np.nonzero(users[rows][:, None] != names)
        nearest = _counts(i, least[i, j], None, (len(rows), width))
        every = None
        if len(names) < n:
            i, j = np.nonzero(rows[:, None] != order)
            every = _counts(i, distance[i, j], None, (len(rows), width))
        yield Neighbours(sizes[rows], np.ones(len(rows), np.int64), nearest, every)


def _by_subsets(records: Records, operations: Operations) -> Iterator[Neighbours]:
    first, times, number = records.distinct()
    sets = records.take(first)
    # A unit is one set of one user, however often that user has it.
    base = int(records.users.max()) + 1
    units, copies = np.unique(number * base + records.users, return_counts=True)
    owned, user = np.divmod(units, base)
    sizes, owners = sets.sizes[owned], np.bincount(owned)
    weights = [owners]
    if records.n_users < len(records):
        weights.append(times)
    own = own_meetings(sets.take(owned), user)
    for rows, tables, exact in _around(sets, weights, operations):
        mine = _spans(owned, rows)
        at = np.repeat(np.arange(len(rows)), owners[rows])
        nearest = tables[0][at]
        # The set itself: all its owners but this one, at distance 0 whatever the operations.
        nearest[:, 0] += owners[owned[mine]] - 1
        every = None
        if len(weights) > 1:
            chosen = _spans(own[0], mine)
            chosen = chosen[exact[owned[own[1][chosen]]]]
            i, j, overlap = (column[chosen] for column in own)
            distance = _distance(sizes[i], sizes[j], overlap, operations)
            nearest -= _counts(np.searchsorted(mine, i), distance, None, nearest.shape)
            every = tables[1][at]
            every[:, 0] += weights[1][owned[mine]] - 1
        yield Neighbours(sizes[mine], copies[mine], nearest, every)


def _spans(ascending: Ints, values: Ints) -> Ints:
    """Where in `ascending` the values are, one after the other."""
    low = np.searchsorted(ascending, values)
    return spans(low, np.searchsorted(ascending, values, side="right") - low)


def _around(
    sets: Sets, weights: list[Ints], operations: Operations
) -> Iterator[tuple[Ints, list[Ints], npt.NDArray[np.bool_]]]:
    """Yield sets, their counts of others by distance, and which sets count where they are."""
    sizes = sets.sizes
    # 2^64 is beyond any budget, and 2^1024 beyond floats.
    subsets = np.cumsum(np.bincount(sizes) * np.exp2(np.minimum(np.arange(sizes.max() + 1), 64)))
    limit = max(1, int(np.searchsorted(subsets, SUBSETS_BUDGET, side="right")) - 1)
    limit = min(limit, int(sizes.max()), SHORT_LIMIT)
    short, long = np.flatnonzero(sizes <= limit), np.flatnonzero(sizes > limit)
    tables = [_short(sets.take(short), w[short], limit, operations) for w in weights]
    place = np.full(len(sets), -1)
    place[short] = np.arange(len(short))
    support = np.bincount(sets.items, minlength=sets.width)
    work = np.bincount(sets.rows, support[sets.items], minlength=len(sets))
    long = long[np.argsort(work[long], kind="stable")]
    spent = np.cumsum(work[long])
    seen, unseen = long[spent <= LONG_BUDGET], long[spent > LONG_BUDGET]
    matrix = sparse(sets)
    everything = np.ones(len(sets), np.bool_)
    for rows in _blocks(seen, sizes[seen], work[seen]):
        b, j, overlap = meetings(matrix, rows, near_only=operations == "both")
        yield rows, [_long(sets, rows, (b, j, overlap), w, operations) for w in weights], everything
        b, j, overlap = (column[place[j] >= 0] for column in (b, j, overlap))
        distance = _distance(sizes[j], sizes[rows][b], overlap, operations)
        for table, w in zip(tables, weights, strict=True):
            np.add(table, _counts(place[j], distance, w[rows][b], table.shape), out=table)
            apart = w[rows].sum() - np.bincount(place[j], w[rows][b], minlength=len(short))
            least = _distance(
                sizes[short], limit + 1, _unlisted(sizes[short], operations), operations
            )
            _add(table, least, apart)
    for table, w in zip(tables, weights, strict=True):
        for z in np.unique(sizes[unseen]):
            nearest = _distance(sizes[short], z, sizes[short], operations)
            _add(table, nearest, w[unseen][sizes[unseen] == z].sum())
    yield short, tables, sizes <= limit
    if len(unseen):
        yield np.sort(unseen), [np.full((len(unseen), 1), w.sum()) for w in weights], ~everything


def _blocks(rows: Ints, sizes: Ints, work: Ints) -> Iterator[Ints]:
    """Cut rows into blocks of sets about as long as each other: the longest sets the width."""
    length = np.frexp(sizes)[1]
    spent = np.cumsum(np.maximum(work, 2 * sizes)) // BLOCK
    for block in np.unique(np.column_stack((length, spent)), axis=0):
        yield np.sort(rows[(length == block[0]) & (spent == block[1])])


def _add(table: Ints, distance: Ints, counts: Any) -> None:  # noqa: ANN401
    columns = np.minimum(distance, table.shape[1] - 1)
    table[np.arange(len(table)), columns] += np.asarray(np.rint(counts), np.int64)


def _long(
    sets: Sets, rows: Ints, met: tuple[Ints, Ints, Ints], weights: Ints, operations: Operations
) -> Ints:
    """Count around long sets, from the items they share with every other set."""
    sizes = sets.sizes
    b, j, overlap = (column[met[1] != rows[met[0]]] for column in met)
    width = 2 * int(sizes[rows].max()) + 1
    distance = _distance(sizes[rows][b], sizes[j], overlap, operations)
    table = _counts(b, distance, weights[j], (len(rows), width))
    present, column = np.unique(sizes, return_inverse=True)
    by_size = np.bincount(column, weights)
    apart = by_size - _counts(b, column[j], weights[j], (len(rows), len(present)))
    apart[np.arange(len(rows)), column[rows]] -= weights[rows]
    for z, others in zip(present.tolist(), apart.T, strict=True):
        least = _distance(sizes[rows], z, _unlisted(z, operations), operations)
        _add(table, least, others)
    return table


def _short(sets: Sets, weights: Ints, limit: int, operations: Operations) -> Ints:
    """Count around short sets among themselves, through their common subsets."""
    n, sizes = len(sets), sets.sizes
    present = np.unique(sizes).tolist()
    # Rows are distances less |S_i| where that is part of them, so that one row serves all sets.
    table = np.zeros((2 * limit + 1, n))

    def add(t: int, z: int, shared: Floats) -> None:
        for o in range(t + 1):
            table[limit + _distance(0, z, o, operations)] += (-1) ** (t - o) * comb(t, o) * shared

    for z in present:
        same = sizes == z
        add(0, z, weights[same].sum() - same * weights.astype(np.float64))
    row, last, cell, t = sets.rows, np.arange(len(sets.items)), sets.items, 1
    while len(row):
        _, cell, members = np.unique(cell, return_inverse=True, return_counts=True)
        shared = members[cell] > 1
        row, last, cell = row[shared], last[shared], cell[shared]
        own = np.bincount(row, minlength=n) * weights
        for z in present[bisect_left(present, t) :]:
            held = sizes[row] == z
            total = np.bincount(cell[held], weights[row[held]], minlength=len(members))
            add(t, z, np.bincount(row, total[cell], minlength=n) - own * (sizes == z))
        later = sets.offsets[row + 1] - last - 1
        row, last = np.repeat(row, later), spans(last + 1, later)
        cell, t = np.repeat(cell, later) * sets.width + sets.items[last], t + 1
    columns = np.arange(2 * limit + 1) + limit - (operations != "additions") * sizes[:, None]
    inside = columns <= 2 * limit
    counts = np.where(inside, table[np.minimum(columns, 2 * limit), np.arange(n)[:, None]], 0)
    return np.rint(counts).astype(np.int64)
