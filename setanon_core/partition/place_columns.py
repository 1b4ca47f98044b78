"""Renumber the items of one place, which has few of all items."""

import numpy as np

from setanon_core.columns.sets import Sets


def renumber_items(*columns: Sets) -> list[Sets]:
    """Number the items that occur in any of the columns 0, 1, ..., in their order."""
    occurs = np.zeros(max(sets.width for sets in columns), np.bool_)
    for sets in columns:
        occurs[sets.items] = True
    number = np.cumsum(occurs) - 1
    return [Sets.unchecked(items=number[sets.items], offsets=sets.offsets) for sets in columns]
