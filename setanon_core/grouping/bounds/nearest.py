"""How far the other users are from each record: counts by distance, never a list of pairs.

Paper:      none; R_j of section 4 is a sum of such distances.
Guarantee:  `nearest` never counts fewer users within a distance than there are, nor `every`
            fewer records; up to PAIRS_LIMIT records both are exact.
Complexity: O(n^2) for few records, that of `distances` for the distinct sets of many.
Deviation:  none.

Among many records, a user with several different sets counts once for each, which only lowers a
bound made from the counts; and `distances` has limits of its own.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, run_starts
from setanon_core.columns.records import Records
from setanon_core.grouping.bounds.distances import around, counts_of, distance
from setanon_core.grouping.bounds.overlaps import overlapping_pairs_within_users
from setanon_core.grouping.matrices import sparse
from setanon_core.params import Operations

PAIRS_LIMIT: Final = 1500
"""Records up to which all pairs are looked at."""


class Neighbours(NamedTuple):
    """Counts by distance (columns) around sets (rows) of `sizes` items, for `copies` records each.

    `nearest` counts other users, each at the distance of their nearest record; `every` all other
    records, the user's own included. It is None if no user has two records.
    """

    sizes: Ints
    copies: Ints
    nearest: Ints
    every: Ints | None


def neighbours(
    records: Records, operations: Operations, enough: int | None = None
) -> Iterator[Neighbours]:
    """Yield counts for all records, block by block.

    With `enough`, records may be left out that so many other users have, item for item: whatever
    is asked about that many users is nothing there.
    The distance is |S_i ^ S_j| when both operations are allowed; |S_i - S_j|, the deletions that
    j forces upon i, under deletions; |S_j - S_i| under additions.
    """
    if len(records) <= PAIRS_LIMIT:
        yield from _by_pairs(records, operations)
    else:
        yield from _by_subsets(records, operations, enough)


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
        away = distance(sizes[rows][:, None], sizes[order], overlap, operations)
        least = np.minimum.reduceat(away, starts, axis=1)
        i, j = np.nonzero(users[rows][:, None] != names)
        nearest = counts_of(i, least[i, j], None, (len(rows), width))
        every = None
        if len(names) < n:
            i, j = np.nonzero(rows[:, None] != order)
            every = counts_of(i, away[i, j], None, (len(rows), width))
        yield Neighbours(sizes[rows], np.ones(len(rows), np.int64), nearest, every)


def _by_subsets(
    records: Records, operations: Operations, enough: int | None
) -> Iterator[Neighbours]:
    first, times, number = records.distinct
    sets = records.take(first)
    # A unit is one set of one user, however often that user has it.
    base = int(records.users.max()) + 1
    every_pair = np.sort(number * base + records.users)
    starts = np.flatnonzero(run_starts(every_pair))
    copies = np.diff(starts, append=len(every_pair)).astype(np.int32)
    owned, user = np.divmod(every_pair[starts], base)
    del every_pair, starts  # memory that is needed in what follows
    owners, n = np.bincount(owned), len(owned)
    weights = [owners]
    if records.n_users < len(records):
        weights.append(times)
    own = overlapping_pairs_within_users(sets.take(owned), user)
    del user
    for every_row, every_table, exact in around(sets, weights, operations):
        poor = np.flatnonzero(owners[every_row] <= (n if enough is None else enough))
        rows, tables = every_row[poor], [table[poor] for table in every_table]
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
            sizes = sets.sizes[owned[i]], sets.sizes[owned[j]]
            away = distance(*sizes, overlap, operations)
            nearest -= counts_of(np.searchsorted(mine, i), away, None, nearest.shape)
            every = tables[1][at]
            every[:, 0] += weights[1][owned[mine]] - 1
        yield Neighbours(sets.sizes[owned[mine]], copies[mine].astype(np.int64), nearest, every)


def _spans(ascending: Ints, values: Ints) -> Ints:
    """Where in `ascending` the values are, one after the other."""
    low = np.searchsorted(ascending, values)
    return concat_ranges(low, np.searchsorted(ascending, values, side="right") - low)
