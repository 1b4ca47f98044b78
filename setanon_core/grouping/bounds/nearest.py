"""Distances from each record to the other users, as counts by distance.

Paper:      none; R_j of section 4 is a sum of such distances.
Guarantee:  `nearest` never counts fewer users within a distance than there are, nor `every` fewer
            records; up to PAIRS_LIMIT records both are exact.
Complexity: O(n^2) for at most PAIRS_LIMIT records; for more, that of `distances` for their
            distinct sets.
Deviation:  none.

For more than PAIRS_LIMIT records, a user with several different sets is counted once per set, and
`distances` has limits of its own. Both only lower a bound computed from the counts.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, run_starts
from setanon_core.columns.records import Records
from setanon_core.grouping.bounds.distances import count_by_distance, counts_of
from setanon_core.grouping.bounds.metric import Metric, distance
from setanon_core.grouping.bounds.overlaps import overlapping_pairs_within_users
from setanon_core.grouping.matrices import sparse

PAIRS_LIMIT: Final = 1500
"""Records up to which all pairs are compared."""

ROWS_AT_ONCE: Final = 256


class Neighbours(NamedTuple):
    """Counts by distance (columns) for sets (rows) of `sizes` items, each of `copies` records.

    `nearest` counts other users, each at the distance of their nearest record. `every` counts all
    other records, including those of the same user; None if no user has two records.
    """

    sizes: Ints
    copies: Ints
    nearest: Ints
    every: Ints | None


def neighbours(
    records: Records, metric: Metric, enough_users: int | None = None
) -> Iterator[Neighbours]:
    """Yield counts for all records, block by block.

    With `enough_users`, records may be omitted whose set more than that many users have: the
    nearest `enough_users` other users are at distance 0.
    """
    if len(records) <= PAIRS_LIMIT:
        yield from _by_pairs(records, metric)
    else:
        yield from _by_distinct_sets(records, metric, enough_users)


def _by_pairs(records: Records, metric: Metric) -> Iterator[Neighbours]:
    n, sizes, users = len(records), records.sizes, records.users
    matrix = sparse(records)
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1))
    distinct_users = users[order][starts]
    width = max(metric.unit, 2) * int(sizes.max(initial=0)) + 1
    for low in range(0, n, ROWS_AT_ONCE):
        rows = np.arange(low, min(low + ROWS_AT_ONCE, n))
        shared = (matrix[rows] @ matrix.T).toarray()[:, order]
        distances = distance(sizes[rows][:, None], sizes[order], shared, metric)
        to_users = np.minimum.reduceat(distances, starts, axis=1)
        i, j = np.nonzero(users[rows][:, None] != distinct_users)
        nearest = counts_of(i, to_users[i, j], None, (len(rows), width))
        every = None
        if len(distinct_users) < n:
            i, j = np.nonzero(rows[:, None] != order)
            every = counts_of(i, distances[i, j], None, (len(rows), width))
        yield Neighbours(sizes[rows], np.ones(len(rows), np.int64), nearest, every)


def _by_distinct_sets(
    records: Records, metric: Metric, enough_users: int | None
) -> Iterator[Neighbours]:
    first, n_records, rank = records.distinct
    sets = records.take(first)
    # A unit is one set of one user, regardless of how many records the user has with it.
    base = int(records.users.max()) + 1
    pairs = np.sort(rank * base + records.users)
    starts = np.flatnonzero(run_starts(pairs))
    copies = np.diff(starts, append=len(pairs)).astype(np.int32)
    set_of_unit, user_of_unit = np.divmod(pairs[starts], base)
    del pairs, starts  # large; free the memory
    owners, n_units = np.bincount(set_of_unit), len(set_of_unit)
    weights = [owners]
    if records.n_users < len(records):
        weights.append(n_records)
    same_user = overlapping_pairs_within_users(sets.take(set_of_unit), user_of_unit)
    del user_of_unit
    limit = n_units if enough_users is None else enough_users
    for block_sets, block_tables, is_exact in count_by_distance(sets, weights, metric):
        kept = np.flatnonzero(owners[block_sets] <= limit)
        rows, tables = block_sets[kept], [table[kept] for table in block_tables]
        units = _positions_of(set_of_unit, rows)
        row_of_unit = np.repeat(np.arange(len(rows)), owners[rows])
        nearest = tables[0][row_of_unit]
        # The other owners of the set itself are at distance 0 for all operations.
        nearest[:, 0] += owners[set_of_unit[units]] - 1
        every = None
        if len(weights) > 1:
            chosen = _positions_of(same_user[0], units)
            chosen = chosen[is_exact[set_of_unit[same_user[1][chosen]]]]
            i, j, shared = (column[chosen] for column in same_user)
            sizes = sets.sizes[set_of_unit[i]], sets.sizes[set_of_unit[j]]
            distances = distance(*sizes, shared, metric)
            nearest -= counts_of(np.searchsorted(units, i), distances, None, nearest.shape)
            every = tables[1][row_of_unit]
            every[:, 0] += weights[1][set_of_unit[units]] - 1
        yield Neighbours(
            sets.sizes[set_of_unit[units]], copies[units].astype(np.int64), nearest, every
        )


def _positions_of(ascending: Ints, values: Ints) -> Ints:
    """All positions in `ascending` of each value, value by value."""
    low = np.searchsorted(ascending, values)
    return concat_ranges(low, np.searchsorted(ascending, values, side="right") - low)
