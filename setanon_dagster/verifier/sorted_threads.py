"""The threads of a file whose rows have no fault, read in one pass into the table `members`.

The rows of a release are sorted, and so are the entries of its ledger: the n-th thread has the
n-th entry. Ids are compared as text, with that of the row before and with that of the entry.

Guarantee:  `create_members` accepts only rows without a null, with well-formed ids that ascend and
            with the positions 0, 1, 2, and so on in each thread; and a ledger with exactly one
            entry for each of these threads, in their order, and no other.
Complexity: one scan of the file and one of the ledger; memory of a batch, or of the largest thread.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_dagster.verifier.sql import Connection, execute, read_batches, redact_arrow_errors

ROWS: Final = {
    "sets": "SELECT thread_id, 0::BIGINT AS position, keywords AS text FROM file",
    "queries": "SELECT thread_id, position, query AS text FROM file",
}
ENTRIES: Final = 'SELECT thread_id::VARCHAR AS thread_id, "user"::VARCHAR AS "user" FROM ledger'
SPELLING_TYPES: Final = {"sets": "VARCHAR[]", "queries": "VARCHAR"}

WELL_FORMED_ID: Final = r"\A[0-9a-f]{32}\z"
SEPARATOR: Final = "\n"
"""Between the queries of a spelling, as in `release_format`."""


def create_members(connection: Connection, form: str, *, with_ledger: bool) -> bool:
    """Create the table `members` (spelling, user) from the views `file` and `ledger`.

    Return whether rows and ledger have no fault; otherwise the table is incomplete. Without a
    ledger the users are null.
    """
    columns = f'spelling {SPELLING_TYPES[form]}, "user" VARCHAR'
    execute(connection, f"CREATE TEMP TABLE members ({columns})")
    with redact_arrow_errors():
        entries = _Entries(connection) if with_ledger else None
        previous = ""
        for rows in _whole_threads(read_batches(connection, ROWS[form])):
            threads = _threads_of(rows, form, previous)
            if threads is None:
                return False
            ids, spellings = threads
            users = pa.nulls(len(ids), pa.string()) if entries is None else entries.users_of(ids)
            if users is None:
                return False
            _insert(connection, pa.table({"spelling": spellings, "user": users}))
            previous = ids[-1].as_py()
        return entries is None or entries.is_empty()


def _whole_threads(batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows in tables that end with the last row of a thread."""
    held: list[pa.Table] = []
    for batch in batches:
        starts = np.flatnonzero(batch["position"].to_numpy() == 0)
        last = int(starts[-1]) if len(starts) else 0
        if last or (held and len(starts)):
            yield pa.concat_tables([*held, batch.slice(0, last)])
            held = []
        held.append(batch.slice(last))
    if held:
        yield pa.concat_tables(held)


def _threads_of(rows: pa.Table, form: str, previous: str) -> tuple[pa.Array, pa.Array] | None:
    """The id and the spelling of each thread, or None if the rows have a fault.

    `previous` is the id of the thread before.
    """
    nullable = {"text"} if form == "sets" else set()
    if any(rows[name].null_count for name in {*rows.column_names} - nullable):
        return None
    ids, text = rows["thread_id"].combine_chunks(), rows["text"].combine_chunks()
    position = rows["position"].to_numpy()
    follows = position[1:] != 0
    same_id = _bools(pc.equal(ids[1:], ids[:-1]))
    starts = np.flatnonzero(position == 0)
    first = ids.take(pa.array(starts))
    before = pa.concat_arrays([pa.array([previous], ids.type), first[:-1]])
    if (
        position[0] != 0
        or (same_id != follows).any()
        or (np.diff(position)[follows] != 1).any()
        or not _bools(pc.greater(first, before)).all()
        or not _bools(pc.match_substring_regex(first, WELL_FORMED_ID)).all()
    ):
        return None
    if form == "sets":
        return ids, text
    bounds = pa.array(np.append(starts, len(rows)), pa.int32())
    return first, pc.binary_join(pa.ListArray.from_arrays(bounds, text), SEPARATOR)


def _bools(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(values, bool)


def _insert(connection: Connection, rows: pa.Table) -> None:
    connection.register("inserted_rows", rows)
    execute(connection, "INSERT INTO members FROM inserted_rows")
    connection.unregister("inserted_rows")


class _Entries:
    """The entries of the view `ledger`, in their order."""

    def __init__(self, connection: Connection) -> None:
        self.batches = read_batches(connection, ENTRIES)
        self.unused = pa.table({"thread_id": pa.array([], pa.string()), "user": []})

    def users_of(self, ids: pa.Array) -> pa.ChunkedArray | None:
        """The users of the next entries, or None if these do not have exactly the given ids."""
        entries = self._next(len(ids))
        same = len(entries) == len(ids) and entries["thread_id"].combine_chunks().equals(ids)
        return entries["user"] if same else None

    def is_empty(self) -> bool:
        """Whether all entries were used."""
        return not len(self._next(1))

    def _next(self, n: int) -> pa.Table:
        """The next n entries, or all that are left."""
        tables = [self.unused] if len(self.unused) else []
        rows = len(self.unused)
        while rows < n and (batch := next(self.batches, None)) is not None:
            tables.append(batch)
            rows += len(batch)
        entries = pa.concat_tables(tables) if tables else self.unused
        self.unused = entries.slice(n)
        return entries.slice(0, n)
