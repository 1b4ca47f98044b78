"""Chunks of cells become typed rows of one table, or lines set aside; all of them are counted."""

# ruff: noqa: S608 - what is put into a statement is a constant of this package

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Final

import duckdb

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_core.runtime.progress import report_progress
from setanon_dagster.sources.blocks import Chunk
from setanon_dagster.sources.source import Source
from setanon_dagster.sources.times import NOTATIONS, POSSIBLE, TYPED, commonest, reading

REASONS: Final = (
    "line too long",
    "quote",
    "encoding",
    "columns",
    "user missing",
    "time missing",
    "time unreadable",
    "query missing",
    "record missing",
    "item missing",
)
"""Why a line is set aside; the first that applies. Encoding: not in this one, or with a NUL.

An empty query is a query without keywords, and accepted; NULL, which only tables have, is missing.
"""

Window = tuple[datetime, datetime]
CHUNK: Final = "setanon_chunk"

# Users are compared letter for letter, so that what only looks like two must be made one before.
# Sound rows leave at the first branch. The comparison spares most of them the costlier trim.
_LOG: Final = """
SELECT trim(nfc_normalize(c0)), moment, c2, line, why FROM (SELECT *, CASE
    WHEN reason IS NULL AND (c0 > '!' OR trim(c0) <> '') AND moment {possible}
      AND c2 IS NOT NULL THEN NULL
    WHEN reason IS NOT NULL THEN reason
    WHEN c0 IS NULL OR trim(c0) = '' THEN 'user missing'
    WHEN c1 IS NULL OR trim(CAST(c1 AS VARCHAR)) = '' THEN 'time missing'
    WHEN moment {possible} THEN 'query missing'
    ELSE 'time unreadable' END AS why
  FROM (SELECT *, {reading} AS moment FROM {chunk}))
"""
_BASKETS: Final = """
SELECT c0, c1, trim(nfc_normalize(c2)), line, CASE
    WHEN reason IS NOT NULL THEN reason
    WHEN c0 IS NULL OR trim(c0) = '' THEN 'record missing'
    WHEN c1 IS NULL OR trim(c1) = '' THEN 'item missing'
    WHEN c2 IS NULL OR trim(c2) = '' THEN 'user missing' END
FROM {chunk}
"""
_TABLES: Final = {
    "log": '"user" VARCHAR, time TIMESTAMP, query VARCHAR',
    "baskets": 'record VARCHAR, item VARCHAR, "user" VARCHAR',
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Read:
    """What was read: relations over a table of the connection, in the order of the lines."""

    accepted: duckdb.DuckDBPyRelation
    """Columns of `raw_log` or `raw_baskets`."""

    rejected: duckdb.DuckDBPyRelation
    """Line and reason."""

    lines: int
    """Records found, without headers and blank lines; rows, in a table."""

    kept: int
    """Lines that were accepted: the rows of `accepted`, but for one basket a line."""

    reasons: dict[str, int]
    """How many lines were set aside, by reason."""

    outside: int
    """Lines that were sound, and not in the window."""

    blank: int


class Intake:
    """Fills one table, chunk by chunk, and counts."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, source: Source, window: Window | None
    ) -> None:
        """Make the table."""
        self.connection, self.source, self.window = connection, source, window
        self.table = f"source_{token_hex(8)}"
        self.lines = self.outside = self.blank = 0
        connection.execute(
            f"CREATE TEMP TABLE {self.table} ({_TABLES[source.kind]}, line BIGINT, reason VARCHAR)"
        ).fetchall()

    def take_file(self, chunks: Iterator[Chunk]) -> int:
        """Take all chunks of one file; return how many lines it has."""
        asked = self.source.time_format
        notation = None if asked is None else reading(asked)
        lines = 0
        for chunk in chunks:
            lines += chunk.lines
            self.lines += chunk.records
            self.blank += chunk.blank
            if not chunk.records:
                continue
            self.connection.register(CHUNK, chunk.table)
            if str(chunk.table.schema.field("c1").type).startswith("timestamp"):
                notation = TYPED
            elif notation is None and self.source.kind == "log":
                notation = commonest(self.connection, CHUNK)
            self._insert(notation or NOTATIONS["iso"])
            self.connection.unregister(CHUNK)
            report_progress("lines read", self.lines)
        return lines

    def _insert(self, notation: str) -> None:
        form = _LOG if self.source.kind == "log" else _BASKETS
        rows = form.format(reading=notation, possible=POSSIBLE, chunk=CHUNK)
        insert = f"INSERT INTO {self.table} {rows}"
        if self.window is None:
            self.connection.execute(insert).fetchall()
            return
        inside = "moment >= ? AND moment < ?"
        self.connection.execute(
            f"{insert} WHERE why IS NOT NULL OR ({inside})", [*self.window]
        ).fetchall()
        counted = f"SELECT count(*) FROM ({rows} WHERE why IS NULL AND NOT ({inside}))"
        self.outside += self.connection.execute(counted, [*self.window]).fetchall()[0][0]

    def result(self) -> Read:
        """Check that no line is lost or counted twice, and that some are of use."""
        each = "count(DISTINCT line)" if self.source.layout == "lines" else "count(*)"
        found = self.connection.execute(
            f"SELECT reason, {each} FROM {self.table} GROUP BY reason"
        ).fetchall()
        counts = Counter(dict(found))
        kept = counts.pop(None, 0)
        reasons = {reason: counts[reason] for reason in REASONS if counts[reason]}
        if kept + sum(reasons.values()) + self.outside != self.lines:
            raise SetanonError(
                f"every line must be accepted, set aside or outside the window; of {self.lines} "
                f"{kept}, {sum(reasons.values())} and {self.outside} are. Nothing was returned; "
                "please report this."
            )
        if not kept and not self.outside:
            why = ", ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "none"
            raise MalformedInputError(
                f"{self.source.name} must have a usable row; of {self.lines} lines there is "
                f"none ({self.blank} more are blank). Lines set aside: {why}. Look at encoding, "
                "delimiter, header, time_format and the columns of the source."
            )
        if self.source.header is None and self.source.table is None and kept:
            first = f"SELECT reason FROM {self.table} WHERE line = 1"
            if self.connection.execute(first).fetchall() == [("time unreadable",)]:
                raise MalformedInputError(
                    f"the first line of {self.source.name} must be a header with the names of the "
                    "columns, or a row; its time cannot be read. Set header=True and the columns, "
                    "or header=False to set it aside."
                )
        names = ", ".join(part.split()[0] for part in _TABLES[self.source.kind].split(", "))
        rows = f"FROM {self.table} WHERE reason"
        return Read(
            self.connection.sql(f"SELECT {names}, line {rows} IS NULL"),
            self.connection.sql(f"SELECT line, reason {rows} IS NOT NULL"),
            self.lines,
            kept,
            reasons,
            self.outside,
            self.blank,
        )
