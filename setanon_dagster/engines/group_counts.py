"""Counts of a map over groups: an engine that cuts, loses, repeats or misorders groups is refused.

Guarantee:  if the keys ascend within each call and strictly from one call to the next, then no key
            is in two calls, so no group is cut; together with an equal number of rows, every group
            is complete. No set of all keys is needed.
Complexity: one comparison per row, where the function is called; one per call in the parent.
"""

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.errors import MalformedInputError, SetanonError


class CutGroupError(SetanonError):
    """An engine did not pass complete groups in key order to a function."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counts of the rows that a function was given and returned; its representation has no keys."""

    rows: int = 0
    keys: int = 0
    results: int = 0
    """Number of rows that the function returned."""

    first: Any = field(default=None, repr=False)
    last: Any = field(default=None, repr=False)
    last_rows: int = 0
    """Rows of the last key."""


def count_groups(column: pa.ChunkedArray | pa.Array, results: int) -> GroupCounts:
    """Count the sorted keys that one call was given; keys in another order are refused.

    >>> count_groups(pa.array(["a", "b", "b"]), results=2)
    GroupCounts(rows=3, keys=2, results=2, last_rows=2)
    """
    n = len(column)
    if column.null_count:
        raise MalformedInputError(f"every row must have a key; {column.null_count} have none.")
    if not n:
        return GroupCounts(results=results)
    before, after = column.slice(0, n - 1), column.slice(1)
    descents = pc.sum(pc.greater(before, after)).as_py() or 0
    if descents:
        raise CutGroupError(
            "the rows that a function is given must be sorted by key; the key decreases at "
            f"{descents} of {n} rows. This is an error of the engine: nothing was written."
        )
    changes = pc.sum(pc.not_equal(before, after)).as_py() or 0
    first, last = column[0].as_py(), column[-1].as_py()
    position = pc.index(column, column[-1]).as_py()
    return GroupCounts(n, changes + 1, results, first, last, n - position)


class GroupCheck:
    """Adds the counts of consecutive calls; refuses a key that two calls have."""

    def __init__(self, max_group_rows: int | None = None) -> None:
        """A longer group may continue in the next call after a multiple of `max_group_rows`."""
        self.max_group_rows = max_group_rows
        self.total = GroupCounts()

    def add(self, counts: GroupCounts) -> None:
        """Add the next call; raise `CutGroupError` if it does not continue in key order."""
        total = self.total
        if not counts.rows:
            return
        continued = total.rows > 0 and counts.first == total.last
        if total.rows and counts.first < total.last:
            raise CutGroupError(
                "groups must be passed to the function in key order; a group came after one with "
                f"a larger key, behind {total.rows} rows. This is an error of the engine: nothing "
                "was written."
            )
        if continued and (not self.max_group_rows or total.last_rows % self.max_group_rows):
            raise CutGroupError(
                "every group must be passed to the function complete; a group was cut in two after "
                f"{total.last_rows} of its rows. This is an error of the engine: nothing was "
                "written."
            )
        longer = continued and counts.keys == 1
        self.total = GroupCounts(
            total.rows + counts.rows,
            total.keys + counts.keys - continued,
            total.results + counts.results,
            total.first if total.rows else counts.first,
            counts.last,
            counts.last_rows + (total.last_rows if longer else 0),
        )

    def finish(self, rows: int, results: int | None = None) -> None:
        """Raise `CutGroupError` unless so many rows were given and so many results received."""
        if self.total.rows != rows:
            raise CutGroupError(
                f"every row must be passed to the function once; there are {rows} rows, and "
                f"{self.total.rows} were passed. This is an error of the engine: nothing was "
                "written."
            )
        if results is not None and self.total.results != results:
            raise CutGroupError(
                f"every row that a function returns must be kept; {self.total.results} rows were "
                f"returned, and {results} received. This is an error of the engine: nothing was "
                "written."
            )
