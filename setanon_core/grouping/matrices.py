"""Sets as 0/1 matrices: one row per set, one column per item."""

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets

Floats = npt.NDArray[np.floating]
"""Arrays of 32-bit or 64-bit floats."""


def dense(sets: Sets, items: Ints | None = None) -> Floats:
    """R_D as a float32 matrix with one column for each of `items`; default: all that occur."""
    columns = np.unique(sets.items) if items is None else items
    matrix = np.zeros((len(sets), len(columns)), np.float32)
    matrix[sets.rows, np.searchsorted(columns, sets.items)] = 1
    return matrix


def sparse(sets: Sets, width: int | None = None) -> csr_array:
    """R_D as a sparse int32 matrix with `width` columns; default: largest item number + 1."""
    ones = np.ones(len(sets.items), np.int32)
    columns = max(sets.width, 1) if width is None else width
    return csr_array((ones, sets.items, sets.offsets), shape=(len(sets), columns))
