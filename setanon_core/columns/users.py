"""Counting distinct users, in columns: a group is safe by its users, not by its records."""

import numpy as np

from setanon_core.columns.sets import Ints, run_starts


def user_ranks(groups: Ints, users: Ints) -> tuple[Ints, Ints]:
    """For each record the place of its user among those of its group, from 0, and their number.

    >>> place, number = user_ranks(np.array([7, 7, 7, 9]), np.array([4, 2, 4, 4]))
    >>> place.tolist(), number.tolist()
    ([1, 0, 1, 0], [2, 2, 2, 1])
    """
    width = int(users.max(initial=0)) + 1
    order = np.argsort(groups * width + users)
    new_group, new_user = run_starts(groups[order]), run_starts(groups[order], users[order])
    row = np.cumsum(new_group) - 1
    seen = np.cumsum(new_user) - 1
    place, number = np.empty((2, len(order)), np.int64)
    place[order] = seen - seen[new_group][row]
    number[order] = np.diff(seen[new_group], append=new_user.sum())[row]
    return place, number


def earlier_occurrences(*columns: Ints) -> Ints:
    """For each row how many earlier rows are the same in all columns.

    >>> earlier_occurrences(np.array([5, 6, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.lexsort(columns[::-1])
    new = run_starts(*(column[order] for column in columns))
    place = np.arange(len(order))
    earlier = np.empty(len(order), np.int64)
    earlier[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return earlier
