"""Cut records into blocks of neighbours, so that quadratic work stays linear in their number.

Paper:      section 5.2 does this with LSH; inside a cluster the items themselves serve.
Guarantee:  none; heuristic. Blocks are disjoint, and no group is cut below k users.
Complexity: O(N log N) for N item occurrences.
Deviation:  not in the paper.
"""

import numpy as np

from setanon_core.flip import flip
from setanon_core.model import WITHDRAWN
from setanon_core.params import Params
from setanon_core.records import Records
from setanon_core.sets import Ints, Sets


def neighbourhoods(
    records: Records, labels: Ints, params: Params, size: int, *, rarest_first: bool = True
) -> list[Ints]:
    """Cut the records into blocks of about `size`: whole units whose centers share items.

    Units that are too large for a block are left out.
    """
    if len(records) <= size:
        return [np.arange(len(records))]
    unit = _units(records, labels, max(size // 2, 2 * params.k))
    _, first, row, counts = np.unique(unit, return_index=True, return_inverse=True, return_counts=True)
    rows, centers = flip(records, labels, params.operations)
    support = np.bincount(records.items, minlength=records.width)
    rank = np.empty(records.width, np.int64)
    rank[np.argsort(support if rarest_first else -support, kind="stable")] = np.arange(len(rank))
    own = _leading(records, rank)
    theirs = _leading(centers, rank)
    keys = np.where((rows == WITHDRAWN)[:, None], own[:-1], theirs[rows])[first]
    order = np.lexsort((_turns(keys, records.users[first]), *keys.T[::-1]))
    block = np.empty(len(first), np.int64)
    block[order] = (np.cumsum(counts[order]) - 1) // size
    members = np.argsort(block[row], kind="stable")
    cuts = np.flatnonzero(np.diff(block[row][members])) + 1
    return [part for part in np.split(members, cuts) if len(part) <= 2 * size]


def _turns(keys: Ints, users: Ints) -> Ints:
    """Number the units of a user that share a key, so that every block has many users."""
    order = np.lexsort((users, *keys.T[::-1]))
    same = (np.diff(keys[order], axis=0) == 0).all(1) & (np.diff(users[order]) == 0)
    place = np.arange(len(order))
    start = np.maximum.accumulate(np.where(np.append(False, same), 0, place))
    turns = np.empty(len(order), np.int64)
    turns[order] = place - start
    return turns


def _leading(sets: Sets, rank: Ints) -> Ints:
    """The three items of each set that come first by `rank`, as ranks."""
    ranks = rank[sets.items]
    place = np.lexsort((ranks, sets.rows))
    leading = np.full((len(sets) + 1, 3), len(rank))
    for column in range(3):
        has = sets.sizes > column
        leading[:-1][has, column] = ranks[place[sets.offsets[:-1][has] + column]]
    return leading


def _units(records: Records, labels: Ints, chunk: int) -> Ints:
    """Number what stays together: a withdrawn record, or a group in chunks of users.

    A chunk takes whole users, `chunk` of them or more, so it is a group in its own right.
    """
    n = len(records)
    order = np.lexsort((records.users, labels))
    group, user = labels[order], records.users[order]
    new_group = np.diff(group, prepend=-2) != 0
    new_user = new_group | (np.diff(user, prepend=-1) != 0)
    start = np.maximum.accumulate(np.where(new_group, np.arange(n), 0))
    seen = np.cumsum(new_user)
    nth = seen - seen[start]
    users = np.bincount(np.cumsum(new_group) - 1, new_user)[np.cumsum(new_group) - 1].astype(np.int64)
    pieces = np.maximum(users // chunk, 1)
    number = np.cumsum(new_group) * n + np.minimum(nth // chunk, pieces - 1)
    unit = np.empty(n, np.int64)
    unit[order] = np.where(group == WITHDRAWN, -1 - np.arange(n), number)
    return unit
