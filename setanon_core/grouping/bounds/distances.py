"""How many other sets are how far from each set, in columns: never a list of all pairs.

Paper:      none; counted for the nearest-neighbour bound.
Guarantee:  never fewer within a distance than there are.
Complexity: O(sum of 2^|S_i|) over the sets of moderate size, O(D) for each longer one of D sets.
Deviation:  none.

Overlaps are counted through subsets. Let F_t count the pairs (T, j) with T a subset of S_i and of
S_j, |T| = t. A set that shares o items with S_i has C(o, t) such T, so by binomial inversion
sum_t (-1)^(t-o) C(t, o) F_t sets share exactly o. Equal subsets are matched by sorting; a subset
that only one set has is not extended.

Where this would take too long, sets count as nearer than they are, which only lowers a bound made
from the counts: what shares at most half of its items with a long set may be taken to share half;
what exceeds LONG_BUDGET is taken to be as near as can be.
"""

from collections.abc import Iterator
from math import comb
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.grouping.bounds.overlaps import overlapping_pairs
from setanon_core.grouping.matrices import Floats, sparse
from setanon_core.params import Operations

SUBSETS_BUDGET: Final = 12_000_000
PER_SET: Final = 24
SHORT_LIMIT: Final = 16
"""Subsets that may be counted: this many, or this many times the sets, 50 bytes each; and items up
to which a set may be called short."""

CELLS: Final = 1 << 26
"""Cells of a table, four bytes each: of very many sets, fewer are short."""

FIRSTS_AT_ONCE: Final = 1 << 18
"""Occurrences with which subsets begin that are counted in one go."""

SETS_AT_ONCE: Final = 1 << 16
"""Sets whose counts are laid out in one go."""

LONG_BUDGET: Final = 100_000_000
"""Meetings of a long set with others in a common item that may be counted, in all."""

BLOCK: Final = 4_000_000
"""Meetings held at once."""


def distance(s: Any, z: Any, overlap: Any, operations: Operations) -> Any:  # noqa: ANN401
    """Measure how far a record of s items is from one of z items, given their overlap."""
    if operations == "both":
        return s + z - 2 * overlap
    return s - overlap if operations == "deletions" else z - overlap


def counts_of(rows: Ints, distances: Ints, weights: Ints | None, shape: tuple[int, ...]) -> Ints:
    """Sum the weights by row and distance; the last column is for all that are farther."""
    cells = rows * shape[1] + np.minimum(distances, shape[1] - 1)
    sums = np.bincount(cells, weights, minlength=shape[0] * shape[1])
    return np.rint(sums).astype(np.int64).reshape(shape)


def around(
    sets: Sets, weights: list[Ints], operations: Operations
) -> Iterator[tuple[Ints, list[Ints], Bools]]:
    """Yield sets, their counts of others by distance, and which sets count where they are."""
    sizes = sets.sizes
    limit = _limit(sizes)
    short, long = np.flatnonzero(sizes <= limit), np.flatnonzero(sizes > limit)
    tables = _short(sets.take(short), [w[short] for w in weights], limit, operations)
    place = np.full(len(sets), -1)
    place[short] = np.arange(len(short))
    support = np.bincount(sets.items, minlength=sets.width)
    work = np.bincount(sets.rows, support[sets.items], minlength=len(sets))
    long = long[np.argsort(work[long], kind="stable")]
    spent = np.cumsum(work[long])
    seen, unseen = long[spent <= LONG_BUDGET], long[spent > LONG_BUDGET]
    matrix = sparse(sets)
    holders = matrix.T.tocsr()
    everything = np.ones(len(sets), np.bool_)
    apart = [np.full(len(short), w[seen].sum()) for w in weights]
    for rows in _blocks(seen, sizes[seen], work[seen]):
        b, j, overlap = overlapping_pairs(matrix, holders, rows, near_only=operations == "both")
        yield rows, [_long(sets, rows, (b, j, overlap), w, operations) for w in weights], everything
        b, j, overlap = (column[place[j] >= 0] for column in (b, j, overlap))
        line = _line(limit, sizes[rows][b], overlap, operations)
        for table, others, w in zip(tables, apart, weights, strict=True):
            np.add.at(table, (line, place[j]), w[rows][b].astype(np.int32))
            np.subtract.at(others, place[j], w[rows][b])
    del matrix, holders  # they are large, and what follows needs them no more
    for table, others, w in zip(tables, apart, weights, strict=True):
        _add(
            table, _line(limit, limit + 1, _unlisted(sizes[short], operations), operations), others
        )
        for z in np.unique(sizes[unseen]):
            line = _line(limit, z, sizes[short], operations)
            _add(table, line, np.full(len(short), w[unseen][sizes[unseen] == z].sum()))
    for rows in np.split(np.arange(len(short)), range(SETS_AT_ONCE, len(short), SETS_AT_ONCE)):
        counts = [_by_distance(table, rows, sizes[short[rows]], operations) for table in tables]
        yield short[rows], counts, sizes <= limit
    if len(unseen):
        yield np.sort(unseen), [np.full((len(unseen), 1), w.sum()) for w in weights], ~everything


def _limit(sizes: Ints) -> int:
    """Items up to which a set is short."""
    # 2^64 is beyond any budget, and 2^1024 beyond floats.
    subsets = np.cumsum(np.bincount(sizes) * np.exp2(np.minimum(np.arange(sizes.max() + 1), 64)))
    budget = max(SUBSETS_BUDGET, PER_SET * len(sizes))
    within = int(np.searchsorted(subsets, budget, side="right")) - 1
    return max(1, min(within, int(sizes.max()), SHORT_LIMIT, CELLS // len(sizes) // 2))


def _line(limit: int, z: Any, overlap: Any, operations: Operations) -> Any:  # noqa: ANN401
    """Where a table counts sets of z items: by distance, less |S_i| where that is part of it."""
    return np.minimum(limit + distance(0, z, overlap, operations), 2 * limit)


def _unlisted(z: Any, operations: Operations) -> Any:  # noqa: ANN401
    """Bound the items that a set of z shares with a long one, if they are not listed to meet."""
    return z // 2 if operations == "both" else 0


def _blocks(rows: Ints, sizes: Ints, work: Ints) -> Iterator[Ints]:
    """Cut rows into blocks of sets about as long as each other: the longest sets the width."""
    length = np.frexp(sizes)[1]
    spent = np.cumsum(np.maximum(work, 2 * sizes)) // BLOCK
    for block in np.unique(np.column_stack((length, spent)), axis=0):
        yield np.sort(rows[(length == block[0]) & (spent == block[1])])


def _add(table: Ints, line: Ints, counts: Ints) -> None:
    table[line, np.arange(table.shape[1])] += counts.astype(table.dtype)


def _long(
    sets: Sets, rows: Ints, met: tuple[Ints, Ints, Ints], weights: Ints, operations: Operations
) -> Ints:
    """Count around long sets, from the items they share with every other set."""
    sizes = sets.sizes
    b, j, overlap = (column[met[1] != rows[met[0]]] for column in met)
    width = 2 * int(sizes[rows].max()) + 1
    away = distance(sizes[rows][b], sizes[j], overlap, operations)
    table = counts_of(b, away, weights[j], (len(rows), width))
    present, column = np.unique(sizes, return_inverse=True)
    by_size = np.bincount(column, weights)
    apart = by_size - counts_of(b, column[j], weights[j], (len(rows), len(present)))
    apart[np.arange(len(rows)), column[rows]] -= weights[rows]
    for z, others in zip(present.tolist(), apart.T, strict=True):
        least = distance(sizes[rows], z, _unlisted(z, operations), operations)
        _add(table.T, np.minimum(least, width - 1), others)
    return table


def _short(sets: Sets, weights: list[Ints], limit: int, operations: Operations) -> list[Any]:
    """Count around short sets among themselves, through their common subsets.

    A table has one column for each set. Sums may overflow on the way, and are right in the end:
    what is counted is less than 2^31.
    """
    n, sizes = len(sets), sets.sizes
    present = np.unique(sizes).tolist()
    tables = [np.zeros((2 * limit + 1, n), np.int32) for _ in weights]
    for table, w in zip(tables, weights, strict=True):
        for z in present:
            same = sizes == z
            table[_line(limit, z, 0, operations)] += (w[same].sum() - same * w).astype(np.int32)
    for first in _occurrences(sets):
        _count_subsets(sets, first, weights, tables, operations)
    return tables


def _occurrences(sets: Sets) -> Iterator[Ints]:
    """Where subsets may begin: all occurrences of some items after those of others.

    Equal subsets begin with the same item, so that they are counted together.
    """
    support = np.bincount(sets.items, minlength=sets.width)
    part = (np.cumsum(support) - support) // FIRSTS_AT_ONCE
    yield from (np.flatnonzero(part[sets.items] == each) for each in np.unique(part))


def _count_subsets(
    sets: Sets, first: Ints, weights: list[Ints], tables: list[Any], operations: Operations
) -> None:
    """Count the subsets that begin at these occurrences: what F_t adds to each table."""
    sizes, limit = sets.sizes, len(tables[0]) // 2
    present, column = np.unique(sizes, return_inverse=True)
    row, last, cell, t = sets.rows[first], first, sets.items[first], 1
    while len(row):
        _, cell, members = np.unique(cell, return_inverse=True, return_counts=True)
        shared = members[cell] > 1
        number = np.cumsum(members > 1) - 1
        row, last, cell = row[shared], last[shared], number[cell[shared]]
        # Few sets are left when t is large: only these are counted for.
        starts = np.append(np.flatnonzero(run_starts(row)), len(row))
        live = row[starts[:-1]]
        # Counts are floats for the sake of BLAS, and exact: they are far from 2^53.
        shape = (int((members > 1).sum()), len(present))
        holds = csr_array((np.ones(len(row)), cell, starts), shape=(len(live), shape[0]))
        kind = cell * shape[1] + column[row]
        added = _added(present, t, limit, operations)
        for table, w in zip(tables, weights, strict=True):
            found = holds @ np.bincount(kind, w[row], shape[0] * shape[1]).reshape(shape)
            found[np.arange(len(live)), column[live]] -= np.diff(starts) * w[live]
            for line in np.flatnonzero(added.any(axis=0)).tolist():
                table[line, live] += (found @ added[:, line]).astype(np.int64).astype(np.int32)
        later = sets.offsets[row + 1] - last - 1
        row, last = np.repeat(row, later), concat_ranges(last + 1, later)
        cell, t = np.repeat(cell, later) * sets.width + sets.items[last], t + 1


def _added(present: Ints, t: int, limit: int, operations: Operations) -> Floats:
    """How often F_t counts, for each size of the other sets, in each line of a table."""
    added = np.zeros((len(present), 2 * limit + 1))
    for column, z in enumerate(present.tolist()):
        for o in range(t + 1 if t <= z else 0):
            added[column, _line(limit, z, o, operations)] += (-1) ** (t - o) * comb(t, o)
    return added


def _by_distance(table: Any, rows: Ints, sizes: Ints, operations: Operations) -> Ints:  # noqa: ANN401
    """One row for each set, its own size put back into the distances."""
    limit = len(table) // 2
    line = np.arange(2 * limit + 1) + limit - (operations != "additions") * sizes[:, None]
    inside = line <= 2 * limit
    counts: Ints = np.where(inside, table[np.minimum(line, 2 * limit), rows[:, None]], 0)
    return counts.astype(np.int64)
