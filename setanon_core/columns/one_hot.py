"""One-hot tables and matrices: one row per record, one 0/1 column per item.

Items are the names of columns or, in a matrix, the numbers of columns. Other values than 0 and 1
are refused: a count or an id must not become an item.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setanon_core.columns.arrays import Ints, offsets_of, require_unmasked
from setanon_core.columns.code_lines import (
    refuse_lists,
    refuse_missing,
    refuse_numbers,
    refuse_table,
)
from setanon_core.columns.encode import is_missing, sorted_vocabulary
from setanon_core.columns.records import Records
from setanon_core.columns.tables import Table, column_names, column_values, select_column
from setanon_core.errors import MalformedInputError

DIMENSIONS: Final = 2
MISSING: Final = -1
OTHER_NUMBER: Final = 2
OTHER: Final = 3
LIST: Final = 4
"""Codes of the cells that are neither 0 nor 1."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OneHot:
    """Row and column of each 1, sorted by row, and the item of each column."""

    rows: Ints
    columns: Ints
    n_rows: int
    items: Sequence[Hashable]

    def to_records(self, users: Any) -> tuple[Records, Ints]:  # noqa: ANN401 - any column
        """The records, and the column of each item of their vocabulary, which is sorted."""
        used = np.flatnonzero(np.bincount(self.columns, minlength=len(self.items)))
        vocabulary, rank = sorted_vocabulary(self.items[column] for column in used.tolist())
        number = np.zeros(len(self.items), np.int64)
        number[used] = rank
        item_columns = np.empty(len(used), np.int64)
        item_columns[rank] = used
        offsets = offsets_of(np.bincount(self.rows, minlength=self.n_rows))
        return Records.from_columns(number[self.columns], offsets, users, vocabulary), item_columns


def is_matrix(data: object) -> bool:
    """Whether the data are a sparse matrix, or a NumPy array of several dimensions."""
    return bool(sparse.issparse(data)) or (isinstance(data, np.ndarray) and data.ndim >= DIMENSIONS)


def read_matrix(matrix: Any) -> OneHot:  # noqa: ANN401 - of NumPy or SciPy
    """Read a matrix; the items are the numbers of its columns.

    >>> cells = read_matrix(np.array([[0, 1], [1, 1]]))
    >>> cells.rows.tolist(), cells.columns.tolist()
    ([0, 1, 1], [1, 0, 1])
    """
    if matrix.ndim != DIMENSIONS:
        raise MalformedInputError(
            "a matrix must have one row per record and one column per item; got "
            f"{matrix.ndim} dimensions. Reshape it."
        )
    n, width = matrix.shape
    if isinstance(matrix, np.ndarray):
        require_unmasked("the matrix", matrix)
        return _read(matrix, np.asarray(matrix).T, n, range(width))
    rows_of_cells: Any = matrix.tocsr(copy=True)
    rows_of_cells.sum_duplicates()  # as SciPy reads repeated cells
    cells = rows_of_cells.tocoo()
    codes = _codes(cells.data)
    _refuse(matrix, codes, cells.col.astype(np.int64), width)
    ones = codes == 1
    rows, columns = cells.row[ones].astype(np.int64), cells.col[ones].astype(np.int64)
    return OneHot(rows, columns, n, range(width))


def read_one_hot(table: Table, user: str | None = None) -> OneHot:
    """Read a table; the items are the names of its columns, except of the column `user`."""
    names = [name for name in column_names(table) if user is None or name != user]
    repeated = len(names) - len(set(names))
    if repeated:
        raise MalformedInputError(
            f"every column of a one-hot table must have its own name; {repeated} repeat another. "
            "Rename them, or merge them: data.T.groupby(level=0).max().T."
        )
    columns = [_cells(select_column(table, name)) for name in names]
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise MalformedInputError(
            "a one-hot table must have a 0/1 column for each item, all of the same length; got "
            f"{len(names)} columns of {len(lengths)} lengths."
        )
    return _read(table, columns, lengths.pop(), names)


def _cells(column: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - any column
    """One column as a NumPy array of one dimension; lists stay lists."""
    require_unmasked("the table", column)
    if not hasattr(column, "__array__"):
        return np.fromiter(column_values(column, times=False), object)
    array = np.asarray(column)
    return array if array.ndim == 1 else np.fromiter(array, object)


def _read(
    data: Any,  # noqa: ANN401 - a table or an array
    columns: Iterable[npt.NDArray[Any]],
    n: int,
    items: Sequence[Hashable],
) -> OneHot:
    """Read the columns one by one; memory is needed for one column and for the cells that are 1."""
    rows = [np.empty(0, np.int64)]
    others = [np.empty((2, 0), np.int64)]
    for number, column in enumerate(columns):
        codes = _codes(column)
        rows.append(np.flatnonzero(codes == 1))
        other = codes[(codes != 0) & (codes != 1)]
        others.append(np.stack([other, np.full(len(other), number)]))
    codes, column_of_code = np.concatenate(others, axis=1)
    _refuse(data, codes, column_of_code, len(items))
    row = np.concatenate(rows)
    column_of_row = np.repeat(np.arange(len(items)), [len(each) for each in rows[1:]])
    order = np.argsort(row, kind="stable")
    return OneHot(row[order], column_of_row[order], n, items)


def _refuse(data: object, codes: Ints, columns: Ints, width: int) -> None:
    """Refuse cells that are neither 0 nor 1."""
    if (codes == LIST).any():
        refuse_lists(data, int(columns[codes == LIST][0]))
    if (codes == OTHER).any():
        wrong = (codes == OTHER) | (codes == OTHER_NUMBER)
        refuse_table(data, np.unique(columns[wrong]).tolist(), width)
    numbers = codes == OTHER_NUMBER
    if numbers.any():
        refuse_numbers(data, int(numbers.sum()), np.unique(columns[numbers]).tolist(), width)
    if (codes == MISSING).any():
        refuse_missing(data, int((codes == MISSING).sum()))


def _codes(values: npt.NDArray[Any]) -> Ints:
    """0 or 1 for each cell of a column with this value, another code for all others.

    >>> _codes(np.array([True, 0.0, 7, None, "1", [1]], object)).tolist()
    [1, 0, 2, -1, 3, 4]
    """
    if values.dtype.kind == "b":
        return values.astype(np.int64)
    if values.dtype.kind in "iuf":
        codes = np.full(len(values), OTHER_NUMBER)
        codes[values == 0] = 0
        codes[values == 1] = 1
        if values.dtype.kind == "f":
            codes[np.isnan(values)] = MISSING
        return codes
    if values.dtype.kind == "O":
        return np.fromiter(map(_code, values), np.int64, len(values))
    return np.full(len(values), OTHER)


def _code(value: Any) -> int:  # noqa: ANN401 - a cell
    if isinstance(value, bool | int | float | np.generic) and not isinstance(value, str | bytes):
        return int(_codes(np.asarray(value).reshape(1))[0])
    if isinstance(value, str | bytes | tuple):
        return OTHER
    if isinstance(value, Iterable):
        return LIST
    return MISSING if is_missing(value) else OTHER


def zero_one_matrix(columns: Ints, offsets: Ints, width: int) -> sparse.csr_array:
    """A sparse matrix that is 1 in `columns[offsets[i]:offsets[i + 1]]` of each row i.

    >>> zero_one_matrix(np.array([1, 0, 1]), np.array([0, 1, 3]), 2).toarray().tolist()
    [[0, 1], [1, 1]]
    """
    # 64 bits: counts of pairs, as in X.T @ X, overflow smaller types.
    ones = np.ones(len(columns), np.int64)
    matrix = sparse.csr_array((ones, columns, offsets), shape=(len(offsets) - 1, width))
    matrix.sort_indices()
    return matrix
