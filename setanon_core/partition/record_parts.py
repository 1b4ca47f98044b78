"""Records in parts that every step of the plan reads again: ranges of columns, or files.

Guarantee:  one part at a time is in memory, if there is a folder of columns.
Complexity: O(N) for N item occurrences.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from setanon_core.columns.narrow import narrow, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import NUMBER_LIMIT
from setanon_core.partition.parts import ranges
from setanon_core.runtime.column_files import StoredColumns, store_columns


class RecordParts(Protocol):
    """Records in parts; can be read several times. Any parts give the same plan."""

    width: int
    """Largest item number + 1."""

    n_users: int
    """Largest user number + 1."""

    def __len__(self) -> int:
        """Number of records."""

    def __iter__(self) -> Iterator[Records]:
        """The parts, with 64-bit users."""


class RecordRanges:
    """Ranges of records that are in memory."""

    def __init__(self, records: Records) -> None:
        """Of all these records, whose columns may be narrow."""
        self._records, self.width = records, records.width
        self.n_users = int(records.users.max(initial=-1)) + 1

    def __len__(self) -> int:
        """Number of records."""
        return len(self._records)

    def __iter__(self) -> Iterator[Records]:
        """The records of each range."""
        for rows in ranges(len(self)) if len(self) else [slice(0, 0)]:
            yield self._records.subset(np.arange(rows.start, rows.stop))


class StoredRecords:
    """Parts in files of the folder of columns, if there is one, else in memory."""

    def __init__(self) -> None:
        """Start empty."""
        self._parts: list[StoredColumns] = []
        self._size = self.width = self.n_users = 0

    def append(self, records: Records) -> None:
        """Add a part."""
        self._size += len(records)
        self.width = max(self.width, records.width)
        self.n_users = max(self.n_users, int(records.users.max(initial=-1)) + 1)
        self._parts.append(
            store_columns(
                narrow(records.items, NUMBER_LIMIT - 1),
                narrow(records.offsets, len(records.items)),
                narrow(records.users, NUMBER_LIMIT - 1),
            )
        )

    def __len__(self) -> int:
        """Number of records."""
        return self._size

    def __iter__(self) -> Iterator[Records]:
        """The records of each part."""
        for part in self._parts:
            items, offsets, users = part.read()
            yield Records.unchecked(items=items, offsets=offsets, users=widen(users), vocabulary=())

    def delete(self) -> None:
        """Delete the files."""
        for part in self._parts:
            part.delete()
        self._parts.clear()
