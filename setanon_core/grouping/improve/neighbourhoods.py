"""Split records into blocks of similar records, so that quadratic work per block stays linear.

Paper:      section 5.2 does this with LSH; inside a cluster we sort by items.
Guarantee:  none; heuristic. Blocks are disjoint; each part of a split group has k users.
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

KEY_ITEMS: Final = 3
"""Items of a center by which blocks are sorted."""


def neighbourhoods(
    records: Records, labels: Ints, params: Params, size: int, *, rarest_first: bool = True
) -> list[Ints]:
    """Split the records into blocks of about `size`; units with similar centers share a block.

    A unit, see `_units`, is never split. Units that are too large for a block are omitted.
    """
    if len(records) <= size:
        return [np.arange(len(records))]
    units, first, unit_of, count = np.unique(
        _units(records, labels, params.k, size // 2),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    keys = _sort_keys(records, labels, params, rarest_first=rarest_first)[first]
    # Units with equal keys alternate between users, so that every block has many users.
    order = np.lexsort((earlier_occurrences(*keys.T, records.users[first]), *keys.T[::-1]))
    block = np.empty(len(units), np.int64)
    block[order] = (np.cumsum(count[order]) - 1) // size
    members = np.argsort(block[unit_of], kind="stable")
    cuts = np.flatnonzero(np.diff(block[unit_of][members])) + 1
    return [part for part in np.split(members, cuts) if len(part) <= 2 * size]


def _units(records: Records, labels: Ints, k: int, max_users: int) -> Ints:
    """Unit number of each record: a withdrawn record, or a part of a group of about `max_users`.

    Runs of 2k consecutive users are dealt to the parts in turn. Users with equal sets often have
    close numbers, so a run keeps them together; and every part gets some of each kind, and k users.
    """
    n, run = len(records), 2 * k
    rank, n_users = user_ranks(labels, records.users)
    parts = np.maximum(n_users // max(max_users, run), 1)
    return np.where(labels == WITHDRAWN, -1 - np.arange(n), labels * n + rank // run % parts)


def _sort_keys(records: Records, labels: Ints, params: Params, *, rarest_first: bool) -> Ints:
    """The first items of each record's center, or of its own set if it is withdrawn."""
    rows, centers = flip(records, labels, params.operations)
    support = np.bincount(records.items, minlength=records.width)
    rank = np.empty(records.width, np.int64)
    rank[np.argsort(support if rarest_first else -support, kind="stable")] = np.arange(len(rank))
    keys = _first_ranks(records, rank)
    published = rows != WITHDRAWN
    keys[published] = _first_ranks(centers, rank)[rows[published]]
    return keys


def _first_ranks(sets: Sets, rank: Ints) -> Ints:
    """The `KEY_ITEMS` lowest item ranks of each set, ascending, padded with `len(rank)`."""
    ranks = rank[sets.items]
    order = np.lexsort((ranks, sets.rows))
    first_ranks = np.full((len(sets), KEY_ITEMS), len(rank))
    for column in range(KEY_ITEMS):
        exists = sets.sizes > column
        first_ranks[exists, column] = ranks[order[sets.offsets[:-1][exists] + column]]
    return first_ranks
