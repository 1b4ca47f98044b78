"""For each set, the number of other sets at each distance, without listing all pairs.

Paper:      none; used for the nearest-neighbour bound.
Guarantee:  never fewer sets within a distance than there are.
Complexity: O(sum of 2^|S_i|) over the short sets, O(D) for each of the other of D sets.
Deviation:  none.

Overlaps of short sets are counted through subsets. Let F_t count the pairs (T, j) with T a subset
of S_i and of S_j, |T| = t. A set that shares o items with S_i has C(o, t) such T, so by binomial
inversion sum_t (-1)^(t-o) C(t, o) F_t sets share exactly o. Equal subsets are matched by sorting;
a subset of only one set is not extended.

Where this would take too long, sets are counted as nearer than they are, which only lowers a bound
computed from the counts: a set that shares at most half of its items with a long set may be
assumed to share half; a set beyond LONG_BUDGET is assumed to be as near as possible.
"""

from collections.abc import Iterator
from math import comb
from typing import Any, Final

import numpy as np
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Bools, Ints, concat_ranges, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.grouping.bounds.metric import HAMMING, Metric, distance
from setanon_core.grouping.bounds.overlaps import overlapping_pairs
from setanon_core.grouping.matrices import Floats, sparse

SUBSETS_BUDGET: Final = 12_000_000
SUBSETS_PER_SET: Final = 24
"""Limit of the counted subsets, 50 bytes each: the larger of `SUBSETS_BUDGET` and
`SUBSETS_PER_SET` times the number of sets."""

SHORT_LIMIT: Final = 16
"""Largest size of a short set."""

TABLE_CELLS: Final = 1 << 26
"""Cells of a table, four bytes each: with very many sets, the largest short size is lower."""

OCCURRENCES_AT_ONCE: Final = 1 << 18
"""First items of subsets that are counted together."""

SETS_AT_ONCE: Final = 1 << 16
"""Sets whose counts are yielded together."""

LONG_BUDGET: Final = 100_000_000
"""Limit of the counted overlaps: pairs of a long set and another set, once per shared item."""

OVERLAPS_AT_ONCE: Final = 4_000_000
"""Overlaps in memory together."""


def counts_of(rows: Ints, distances: Ints, weights: Ints | None, shape: tuple[int, ...]) -> Ints:
    """Sum the weights by row and distance; larger distances count in the last column."""
    cells = rows * shape[1] + np.minimum(distances, shape[1] - 1)
    sums = np.bincount(cells, weights, minlength=shape[0] * shape[1])
    return np.rint(sums).astype(np.int64).reshape(shape)


def count_by_distance(
    sets: Sets, weights: list[Ints], metric: Metric
) -> Iterator[tuple[Ints, list[Ints], Bools]]:
    """Yield set numbers, counts of other sets by distance for each of the weights, and a mask.

    The mask marks the sets that these counts contain at their actual distance if they are near.
    """
    sizes = sets.sizes
    limit = _short_size(sizes, metric)
    short, long = np.flatnonzero(sizes <= limit), np.flatnonzero(sizes > limit)
    tables = _count_short(sets.take(short), [w[short] for w in weights], limit, metric)
    column = np.full(len(sets), -1)
    column[short] = np.arange(len(short))
    support = np.bincount(sets.items, minlength=sets.width)
    work = np.bincount(sets.rows, support[sets.items], minlength=len(sets))
    long = long[np.argsort(work[long], kind="stable")]
    total_work = np.cumsum(work[long])
    counted, uncounted = long[total_work <= LONG_BUDGET], long[total_work > LONG_BUDGET]
    matrix = sparse(sets)
    transposed = matrix.T.tocsr()
    all_sets = np.ones(len(sets), np.bool_)
    unlisted = [np.full(len(short), w[counted].sum()) for w in weights]
    for rows in _blocks(counted, sizes[counted], work[counted]):
        pairs = overlapping_pairs(matrix, transposed, rows, near_only=metric == HAMMING)
        yield rows, [_count_long(sets, rows, pairs, w, metric) for w in weights], all_sets
        is_short = column[pairs[1]] >= 0
        i, j, shared = (values[is_short] for values in pairs)
        table_row = table_row_of(limit, sizes[rows][i], shared, metric)
        for table, others, w in zip(tables, unlisted, weights, strict=True):
            np.add.at(table, (table_row, column[j]), w[rows][i].astype(np.int32))
            np.subtract.at(others, column[j], w[rows][i])
    del matrix, transposed  # large; free the memory
    for table, others, w in zip(tables, unlisted, weights, strict=True):
        most_shared = _most_shared_unlisted(sizes[short], metric)
        _add(table, table_row_of(limit, limit + 1, most_shared, metric), others)
        for z in np.unique(sizes[uncounted]):
            table_row = table_row_of(limit, z, sizes[short], metric)
            _add(table, table_row, np.full(len(short), w[uncounted][sizes[uncounted] == z].sum()))
    for rows in np.split(np.arange(len(short)), range(SETS_AT_ONCE, len(short), SETS_AT_ONCE)):
        counts = [by_distance(table, rows, sizes[short[rows]], metric) for table in tables]
        yield short[rows], counts, sizes <= limit
    if len(uncounted):
        at_zero = [np.full((len(uncounted), 1), w.sum()) for w in weights]
        yield np.sort(uncounted), at_zero, ~all_sets


def _short_size(sizes: Ints, metric: Metric) -> int:
    """Largest size of a short set."""
    # 2^64 exceeds any budget, and 2^1024 would overflow a float.
    subsets = np.cumsum(np.bincount(sizes) * np.exp2(np.minimum(np.arange(sizes.max() + 1), 64)))
    budget = max(SUBSETS_BUDGET, SUBSETS_PER_SET * len(sizes))
    within = int(np.searchsorted(subsets, budget, side="right")) - 1
    cells = TABLE_CELLS // len(sizes) // max(metric.unit, 2)
    return max(1, min(within, int(sizes.max()), SHORT_LIMIT, cells))


def table_row_of(limit: int, z: Any, shared: Any, metric: Metric) -> Any:  # noqa: ANN401
    """Row of a table that counts sets of z items: the distance from S_i without the term |S_i|.

    Rows begin at the least such distance from a set of `limit` items.
    """
    return np.minimum(metric.own * limit + distance(0, z, shared, metric), metric.unit * limit)


def _most_shared_unlisted(z: Any, metric: Metric) -> Any:  # noqa: ANN401
    """Most items that a set of z items shares with a long set, if the pair is not listed."""
    return z // 2 if metric == HAMMING else 0


def _blocks(rows: Ints, sizes: Ints, work: Ints) -> Iterator[Ints]:
    """Split rows into blocks of similar sizes: the longest set determines the width of a block."""
    magnitude = np.frexp(sizes)[1]
    part = np.cumsum(np.maximum(work, 2 * sizes)) // OVERLAPS_AT_ONCE
    for block in np.unique(np.column_stack((magnitude, part)), axis=0):
        yield np.sort(rows[(magnitude == block[0]) & (part == block[1])])


def _add(table: Ints, table_row: Ints, counts: Ints) -> None:
    """Add one count to each column of the table."""
    table[table_row, np.arange(table.shape[1])] += counts.astype(table.dtype)


def _count_long(
    sets: Sets, rows: Ints, pairs: tuple[Ints, Ints, Ints], weights: Ints, metric: Metric
) -> Ints:
    """Counts for long sets, from the listed pairs and the number of all other sets by size."""
    sizes = sets.sizes
    i, j, shared = (values[pairs[1] != rows[pairs[0]]] for values in pairs)
    width = max(metric.unit, 2) * int(sizes[rows].max()) + 1
    distances = distance(sizes[rows][i], sizes[j], shared, metric)
    table = counts_of(i, distances, weights[j], (len(rows), width))
    distinct_sizes, size_number = np.unique(sizes, return_inverse=True)
    by_size = np.bincount(size_number, weights)
    listed = counts_of(i, size_number[j], weights[j], (len(rows), len(distinct_sizes)))
    unlisted = by_size - listed
    unlisted[np.arange(len(rows)), size_number[rows]] -= weights[rows]
    for z, others in zip(distinct_sizes.tolist(), unlisted.T, strict=True):
        most_shared = _most_shared_unlisted(z, metric)
        least = distance(sizes[rows], z, most_shared, metric)
        _add(table.T, np.minimum(least, width - 1), others)
    return table


def _count_short(sets: Sets, weights: list[Ints], limit: int, metric: Metric) -> list[Any]:
    """Counts for short sets among themselves, through their common subsets.

    A table has one column per set. Intermediate sums may overflow int32; the final counts are
    less than 2^31 and therefore exact.
    """
    n, sizes = len(sets), sets.sizes
    distinct_sizes = np.unique(sizes).tolist()
    tables = [np.zeros((metric.unit * limit + 1, n), np.int32) for _ in weights]
    for table, w in zip(tables, weights, strict=True):
        for z in distinct_sizes:
            same = sizes == z
            others = (w[same].sum() - same * w).astype(np.int32)
            table[table_row_of(limit, z, 0, metric)] += others
    for first in _first_items(sets):
        count_subsets(sets, first, weights, tables, metric)
    return tables


def _first_items(sets: Sets) -> Iterator[Ints]:
    """Split the item occurrences, the possible first items of subsets, into parts by item.

    Equal subsets have the same first item, so they are in one part.
    """
    support = np.bincount(sets.items, minlength=sets.width)
    part = (np.cumsum(support) - support) // OCCURRENCES_AT_ONCE
    yield from (np.flatnonzero(part[sets.items] == number) for number in np.unique(part))


def count_subsets(
    sets: Sets, first: Ints, weights: list[Ints], tables: list[Any], metric: Metric
) -> None:
    """Add the terms of F_t to each table, for the subsets with these first items."""
    sizes, limit = sets.sizes, (len(tables[0]) - 1) // metric.unit
    distinct_sizes, size_number = np.unique(sizes, return_inverse=True)
    # A subset T of a set: its set, the position of its last item, and a key equal for equal T.
    row, last, key, t = sets.rows[first], first, sets.items[first], 1
    while len(row):
        _, key, members = np.unique(key, return_inverse=True, return_counts=True)
        is_shared = members[key] > 1
        number = np.cumsum(members > 1) - 1
        row, last, key = row[is_shared], last[is_shared], number[key[is_shared]]
        # For large t few sets have shared subsets: only their columns are updated.
        starts = np.append(np.flatnonzero(run_starts(row)), len(row))
        active = row[starts[:-1]]
        # Float counts for BLAS; exact, because they are far below 2^53.
        shape = (int((members > 1).sum()), len(distinct_sizes))
        has_subset = csr_array((np.ones(len(row)), key, starts), shape=(len(active), shape[0]))
        cell = key * shape[1] + size_number[row]
        coefficients = _coefficients(distinct_sizes, t, limit, metric)
        for table, w in zip(tables, weights, strict=True):
            counts = has_subset @ np.bincount(cell, w[row], shape[0] * shape[1]).reshape(shape)
            counts[np.arange(len(active)), size_number[active]] -= np.diff(starts) * w[active]
            for table_row in np.flatnonzero(coefficients.any(axis=0)).tolist():
                sums = (counts @ coefficients[:, table_row]).astype(np.int64)
                table[table_row, active] += sums.astype(table.dtype)
        later = sets.offsets[row + 1] - last - 1
        row, last = np.repeat(row, later), concat_ranges(last + 1, later)
        key, t = np.repeat(key, later) * sets.width + sets.items[last], t + 1


def _coefficients(distinct_sizes: Ints, t: int, limit: int, metric: Metric) -> Floats:
    """Coefficient of F_t for each size of the other sets in each table row."""
    coefficients = np.zeros((len(distinct_sizes), metric.unit * limit + 1))
    for number, z in enumerate(distinct_sizes.tolist()):
        for o in range(t + 1 if t <= z else 0):
            table_row = table_row_of(limit, z, o, metric)
            coefficients[number, table_row] += (-1) ** (t - o) * comb(t, o)
    return coefficients


def by_distance(table: Any, rows: Ints, sizes: Ints, metric: Metric) -> Ints:  # noqa: ANN401
    """One row per set with counts by distance: adds |S_i| back to the distance."""
    last = len(table) - 1
    limit = last // metric.unit
    table_row = np.arange(last + 1) + metric.own * (limit - sizes[:, None])
    exists = table_row <= last
    counts: Ints = np.where(exists, table[np.minimum(table_row, last), rows[:, None]], 0)
    return counts.astype(np.int64)
