"""Cut records into blocks of neighbours, so that quadratic work stays linear in their number.

Paper:      section 5.2 does this with LSH; inside a cluster the items themselves serve.
Guarantee:  none; heuristic. Blocks are disjoint, and no group is cut below k users.
Complexity: O(N log N) for N item occurrences.
Deviation:  not in the paper.
"""

from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, earlier_occurrences
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.grouping.flip import flip
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import Params

LEADING: Final = 3
"""Items of a center that say where it belongs."""


def neighbourhoods(
    records: Records, labels: Ints, params: Params, size: int, *, rarest_first: bool = True
) -> list[Ints]:
    """Cut the records into blocks of about `size`: whole units whose centers share items.

    Units that are too large for a block are left out.
    """
    if len(records) <= size:
        return [np.arange(len(records))]
    units, first, row, count = np.unique(
        _units(records, labels, params.k, size // 2),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    keys = _keys(records, labels, params, rarest_first=rarest_first)[first]
    # Equal keys take turns by user, so that every block has many users.
    order = np.lexsort((earlier_occurrences(*keys.T, records.users[first]), *keys.T[::-1]))
    block = np.empty(len(units), np.int64)
    block[order] = (np.cumsum(count[order]) - 1) // size
    members = np.argsort(block[row], kind="stable")
    cuts = np.flatnonzero(np.diff(block[row][members])) + 1
    return [part for part in np.split(members, cuts) if len(part) <= 2 * size]


def _units(records: Records, labels: Ints, k: int, chunk: int) -> Ints:
    """Number what stays together: a withdrawn record, or a group in chunks of users.

    Chunks are dealt runs of 2k users. A run keeps users together whose numbers are close, as
    are those of users with equal sets; and every chunk gets some of each kind, and k users.
    """
    n, run = len(records), 2 * k
    place, users = user_ranks(labels, records.users)
    pieces = np.maximum(users // max(chunk, run), 1)
    return np.where(labels == WITHDRAWN, -1 - np.arange(n), labels * n + place // run % pieces)


def _keys(records: Records, labels: Ints, params: Params, *, rarest_first: bool) -> Ints:
    """The leading items of each record's center, or of its own set if it is withdrawn."""
    rows, centers = flip(records, labels, params.operations)
    support = np.bincount(records.items, minlength=records.width)
    rank = np.empty(records.width, np.int64)
    rank[np.argsort(support if rarest_first else -support, kind="stable")] = np.arange(len(rank))
    keys = _leading(records, rank)
    published = rows != WITHDRAWN
    keys[published] = _leading(centers, rank)[rows[published]]
    return keys


def _leading(sets: Sets, rank: Ints) -> Ints:
    """The items of each set that come first by `rank`, as ranks."""
    ranks = rank[sets.items]
    place = np.lexsort((ranks, sets.rows))
    leading = np.full((len(sets), LEADING), len(rank))
    for column in range(LEADING):
        has = sets.sizes > column
        leading[has, column] = ranks[place[sets.offsets[:-1][has] + column]]
    return leading
