"""Split columns by place, and renumber the items of one place, which has few of all items."""

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets


def rows_by_place(place: npt.NDArray[np.integer], places: int) -> list[Ints]:
    """The row numbers of each place, ascending.

    >>> [rows.tolist() for rows in rows_by_place(np.array([2, 0, 2]), 3)]
    [[1], [], [0, 2]]
    """
    order = np.argsort(place, kind="stable")
    return np.split(order, np.searchsorted(place[order], np.arange(1, places)))


def renumber_items(*columns: Sets) -> list[Sets]:
    """Number the items that occur in any of the columns 0, 1, ..., in their order."""
    occurs = np.zeros(max(sets.width for sets in columns), np.bool_)
    for sets in columns:
        occurs[sets.items] = True
    number = np.cumsum(occurs) - 1
    return [Sets.unchecked(items=number[sets.items], offsets=sets.offsets) for sets in columns]
