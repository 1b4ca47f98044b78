"""Choose the records of a part that are published now; the others wait for the next part.

A record is ready if its loss, the flips divided by the items that it had, is at most the bar: 0
when it arrives, 1 at the end of its waiting time. The bar rises late (`bar`). A group with k ready
users publishes its ready records. A group with a record whose time is over is published even so,
completed to k users with the members that lose least and have waited longest. Members that would
remain with fewer than k users are published too, if they lose little.

Guarantee:  from every group, either no user is chosen or at least k; all members whose time is
            over are chosen. With `hold=0`, everything is chosen that the grouping did not withdraw.
Complexity: O(n log n) for n records.
Deviation:  none in the paper. The constants are measured: `bench/series.py`, docs/how-to/series.md.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Bools, Ints, run_starts
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import count_users
from setanon_core.model.groups import WITHDRAWN

Floats = npt.NDArray[np.float64]

EXPONENT: Final = 4
"""Of the bar. Higher: records wait longer. At 4, a record at half of its time may lose 6 %."""

SMALL_LOSS: Final = 0.4
"""Loss up to which a member is published with its group rather than left with too few users."""


def bar(ages: Ints, hold: int) -> Floats:
    """The loss up to which records of these ages are published.

    >>> bar(np.array([0, 1, 2, 3]), 2).tolist()
    [0.0, 0.0625, 1.0, 1.0]
    """
    return _progress(ages, hold) ** EXPONENT


def _progress(ages: Ints, hold: int) -> Floats:
    return np.minimum(ages / hold, 1) if hold else np.ones(len(ages))


def choose(  # noqa: PLR0913 - the columns of the records, and two parameters
    labels: Ints, users: Ints, losses: Floats, ages: Ints, *, k: int, hold: int
) -> Bools:
    """Whether each record is published now; withdrawn records are not."""
    chosen = np.zeros(len(labels), np.bool_)
    grouped = np.flatnonzero(labels != WITHDRAWN)
    if len(grouped) == 0:
        return chosen
    over = ages >= hold
    ready = over | (losses <= bar(ages, hold))
    # In each group first the ready records, then those that lose least and have waited longest.
    rank = np.where(ready, -np.inf, losses - _progress(ages, hold))
    members = grouped[np.lexsort((rank[grouped], labels[grouped]))]
    group, ready, user = labels[members], ready[members], users[members]
    n_groups = int(group[-1]) + 1
    new_user = _first_of_user(group, user)
    users_before = _count_within(group, new_user) - new_user
    complete = count_users(group[ready], user[ready], n_groups) >= k
    published = complete | (np.bincount(group[over[members]], minlength=n_groups) > 0)
    filler = new_user & (users_before < k)
    now = published[group] & (ready | filler)
    remaining = published[group] & ~now
    few = count_users(group[remaining], user[remaining], n_groups) < k
    now |= remaining & few[group] & (losses[members] <= SMALL_LOSS)
    chosen[members] = now
    return chosen


def record_losses(sets: Sets, labels: Ints, centers: Sets) -> Floats:
    """The flips of each record divided by its number of items; 1 for withdrawn records."""
    width = max(sets.width, centers.width, 1)
    rows = sets.rows
    cells = labels[rows] * width + sets.items
    kept = np.isin(cells, centers.rows * width + centers.items) & (labels[rows] != WITHDRAWN)
    n_kept = np.bincount(rows[kept], minlength=len(sets))
    center_sizes = np.append(centers.sizes, 0)[labels]  # the last entry is that of WITHDRAWN
    losses: Floats = (sets.sizes + center_sizes - 2 * n_kept) / np.maximum(sets.sizes, 1)
    return losses


def _first_of_user(group: Ints, user: Ints) -> Bools:
    """Whether each row is the first of its user in its group."""
    order = np.lexsort((user, group))  # stable: of equal rows, the first stays the first
    first = np.empty(len(order), np.bool_)
    first[order] = run_starts(group[order], user[order])
    return first


def _count_within(group: Ints, marked: Bools) -> Ints:
    """The number of marked rows up to each row, in its group; the rows of a group are adjacent."""
    counts: Ints = np.cumsum(marked)
    starts = np.flatnonzero(run_starts(group))
    before: Ints = counts[starts] - marked[starts]
    return counts - np.repeat(before, np.diff(starts, append=len(group)))
