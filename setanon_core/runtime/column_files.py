"""Columns in files of a private folder: the memory of large columns that a step does not need.

A file is also how columns are passed to another process of this machine: only its path is sent.
Without a folder, columns stay in memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from setanon_core.runtime.executor import shares_files

Column = npt.NDArray[Any]

_folder: ContextVar[Path | None] = ContextVar("column folder", default=None)


@contextmanager
def use_column_folder(folder: Path | None) -> Iterator[None]:
    """Store columns in this folder in this context; the caller removes the folder."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def column_folder() -> Path | None:
    """The current folder; None: columns stay in memory."""
    return _folder.get()


def new_path(folder: Path | None) -> Path | None:
    """The path of a new file in the folder; None without a folder."""
    return None if folder is None else folder / f"{uuid4().hex}.columns"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredColumns:
    """Columns in a file, or in memory; can be sent to another process."""

    path: Path | None
    columns: tuple[Column, ...] = ()

    def take(self) -> tuple[Column, ...]:
        """The columns; the file is deleted, so they can be taken once."""
        columns = self.read()
        self.delete()
        return columns

    def read(self) -> tuple[Column, ...]:
        """The columns; the file is kept."""
        if self.path is None:
            return self.columns
        with self.path.open("rb") as file:
            columns = []
            while file.peek(1):
                columns.append(np.lib.format.read_array(file, allow_pickle=False))
        return tuple(columns)

    def delete(self) -> None:
        """Delete the file, if there is one."""
        if self.path is not None:
            self.path.unlink()


def store_columns(*columns: Column) -> StoredColumns:
    """Write the columns to a new file of the current folder, if there is one.

    >>> store_columns(np.array([1, 2])).take()[0].tolist()
    [1, 2]
    """
    path = new_path(column_folder())
    if path is None:
        return StoredColumns(None, columns)
    with path.open("xb") as file:
        for column in columns:
            np.lib.format.write_array(file, np.ascontiguousarray(column), allow_pickle=False)
    return StoredColumns(path)


def pass_columns(*columns: Column) -> StoredColumns:
    """Columns as an argument of a call: in a file if the current executor reads files."""
    return store_columns(*columns) if shares_files() else StoredColumns(None, columns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoredRows:
    """The int32 rows of a table in a file, or in memory; ranges of rows are read."""

    path: Path | None
    shape: tuple[int, ...]
    """Shape of one row."""

    table: Column | None = None

    def read(self, low: int, high: int) -> Column:
        """The rows from `low` to `high` - 1."""
        if self.table is not None:
            return self.table[low:high]
        size, width = prod(self.shape), np.dtype(np.int32).itemsize
        numbers = np.fromfile(
            self.path or "", np.int32, count=(high - low) * size, offset=low * size * width
        )
        return numbers.reshape(high - low, *self.shape)

    def keep(self) -> "StoredRows":
        """These rows in a file of the current folder, if there is one."""
        if self.table is None or column_folder() is None:
            return self
        return store_rows(new_path(column_folder()), self.table)

    def delete(self) -> None:
        """Delete the file."""
        if self.path is not None:
            self.path.unlink()


def store_rows(path: Path | None, table: npt.NDArray[np.int32]) -> StoredRows:
    """Write the rows to a new file, or keep them in memory without a path.

    >>> store_rows(None, np.array([[1, 2], [3, 4]], np.int32)).read(1, 2).tolist()
    [[3, 4]]
    """
    if path is None:
        return StoredRows(None, table.shape[1:], table)
    table.tofile(path)
    return StoredRows(path, table.shape[1:])
