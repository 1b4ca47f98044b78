"""Sets as matrices: one row for each set, one column for each item, 1 where the set holds it."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets

Floats = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


def dense(sets: Sets, items: Ints | None = None) -> Floats:
    """R_D with one column for each of `items`; by default, for those that occur."""
    names = np.unique(sets.items) if items is None else items
    matrix = np.zeros((len(sets), len(names)), np.float32)
    matrix[sets.rows, np.searchsorted(names, sets.items)] = 1
    return matrix


def sparse(sets: Sets, width: int | None = None) -> csr_array:
    """The same as a sparse matrix of integers, with `width` columns."""
    ones = np.ones(len(sets.items), np.int32)
    columns = max(sets.width, 1) if width is None else width
    return csr_array((ones, sets.items, sets.offsets), shape=(len(sets), columns))
