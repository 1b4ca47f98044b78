"""Load batches of cells into one table of typed rows and rejected lines, and count all of them."""

# ruff: noqa: S608 - what is put into a statement is a constant of this package

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_hex
from typing import Final

import duckdb

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_core.params import UserNames
from setanon_core.runtime.progress import report_progress
from setanon_dagster.sources.attributes import attribute_values
from setanon_dagster.sources.cell_batch import CellBatch
from setanon_dagster.sources.csv_records import Encoding
from setanon_dagster.sources.source import Source
from setanon_dagster.sources.times import (
    NATIVE_TIMESTAMP,
    UTC,
    VALID_TIME,
    detect_time_sql,
    suggest_formats,
    time_sql,
)
from setanon_dagster.sources.user_names import records_are_users, user_spellings

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
"""Why a line is rejected; the first that applies. Encoding: invalid bytes, or a NUL.

An empty query is accepted as a query without keywords. A NULL, which only tables have, is missing.
"""

REMEDIES: Final = {
    "line too long": "Set a greater longest_line",
    "quote": "Close the quotes, or set quoting to false",
    "encoding": "Set the encoding of the file",
    "columns": "Set delimiter, or correct the number of cells",
    "time unreadable": "Set time_format, by name or as a strptime format such as %d/%m/%Y",
} | dict.fromkeys(
    (f"{name} missing" for name in ("user", "time", "query", "record", "item")),
    "Set user_column and similar parameters, or fill in the missing values",
)
"""What to do about the lines rejected for each reason."""

Window = tuple[datetime, datetime]
BATCH: Final = "setanon_batch"
"""Name under which a batch is registered in DuckDB."""

# User ids are compared exactly later, so equal ids must get one spelling here (NFC, trimmed).
# Valid rows leave at the first branch; `c0 > '!'` avoids the slower trim for most of them.
_LOG: Final = """
SELECT trim(nfc_normalize(c0)), moment, c2{attributes}, line, why FROM (SELECT *, CASE
    WHEN reason IS NULL AND (c0 > '!' OR trim(c0) <> '') AND moment {valid_time}
      AND c2 IS NOT NULL THEN NULL
    WHEN reason IS NOT NULL THEN reason
    WHEN c0 IS NULL OR trim(c0) = '' THEN 'user missing'
    WHEN c1 IS NULL OR trim(CAST(c1 AS VARCHAR)) = '' THEN 'time missing'
    WHEN moment {valid_time} THEN 'query missing'
    ELSE 'time unreadable' END AS why
  FROM (SELECT *, {time_sql} AS moment FROM {batch}))
"""
_BASKETS: Final = """
SELECT c0, c1, trim(nfc_normalize(c2)){attributes}, line, CASE
    WHEN reason IS NOT NULL THEN reason
    WHEN c0 IS NULL OR trim(c0) = '' THEN 'record missing'
    WHEN c1 IS NULL OR trim(c1) = '' THEN 'item missing'
    WHEN c2 IS NULL OR trim(c2) = '' THEN 'user missing' END
FROM {batch}
"""
_COLUMNS: Final = {
    "log": '"user" VARCHAR, time TIMESTAMP, query VARCHAR',
    "baskets": 'record VARCHAR, item VARCHAR, "user" VARCHAR',
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReadResult:
    """A source that was read: relations over a table of the connection, in line order; counts."""

    accepted: duckdb.DuckDBPyRelation
    """Rows with the columns of `raw_log` or `raw_baskets`."""

    rejected: duckdb.DuckDBPyRelation
    """Line and reason of each rejected line."""

    lines: int
    """Records read, without headers and blank lines; rows, if the source is a table."""

    accepted_lines: int
    """Accepted records: the rows of `accepted`, except with `layout="lines"` (one per basket)."""

    rejected_by_reason: dict[str, int]
    """Number of rejected lines by reason."""

    outside_window: int
    """Valid lines outside the time window."""

    blank_lines: int

    encodings: tuple[Encoding, ...] = ()
    """Encodings of the text files that were read."""


class RowLoader:
    """Inserts batches into one table, and counts lines."""

    def __init__(  # noqa: PLR0913 - what is read, and how
        self,
        connection: duckdb.DuckDBPyConnection,
        source: Source,
        window: Window | None,
        *,
        user_names: UserNames = "folded",
        timezone: str = UTC,
        attributes: Sequence[str] = (),
    ) -> None:
        """Create the table."""
        self.attributes = attribute_values(attributes, source.kind, timezone)
        self.timezone = timezone
        self.connection, self.source, self.window = connection, source, window
        self.user_names: UserNames = user_names
        self.table = f"source_{token_hex(8)}"
        self.lines = self.outside_window = self.blank_lines = 0
        self.suggested_formats: list[str] = []
        connection.execute(
            f"CREATE TEMP TABLE {self.table} ({self._columns}, line BIGINT, reason VARCHAR)"
        ).fetchall()

    @property
    def _columns(self) -> str:
        """Names and types of the columns of accepted rows."""
        return ", ".join(
            [_COLUMNS[self.source.kind], *(f"{name} VARCHAR" for name in self.attributes)]
        )

    def load_file(self, batches: Iterator[CellBatch]) -> int:
        """Load all batches of one file; return its number of lines."""
        time_format = self.source.time_format
        parse_time = None if time_format is None else time_sql(time_format, self.timezone)
        lines = 0
        for batch in batches:
            lines += batch.lines
            self.lines += batch.records
            self.blank_lines += batch.blank
            if batch.table is None or not batch.records:
                continue
            self.connection.register(BATCH, batch.table)
            if str(batch.table.schema.field("c1").type).startswith("timestamp"):
                parse_time = NATIVE_TIMESTAMP
            elif parse_time is None and self.source.kind == "log":
                parse_time = detect_time_sql(self.connection, BATCH, self.timezone)
                self.suggested_formats += suggest_formats(self.connection, BATCH, parse_time)
            self._insert(parse_time or "NULL")
            self.connection.unregister(BATCH)
            report_progress("lines read", self.lines)
        return lines

    def _insert(self, parse_time: str) -> None:
        template = _LOG if self.source.kind == "log" else _BASKETS
        rows = template.format(
            time_sql=parse_time,
            valid_time=VALID_TIME,
            batch=BATCH,
            # Infinity has no calendar; its row is rejected.
            attributes="".join(
                f", CASE WHEN isfinite(moment) THEN {sql} END" if "moment" in sql else f", {sql}"
                for sql in self.attributes.values()
            ),
        )
        insert = f"INSERT INTO {self.table} {rows}"
        if self.window is None:
            self.connection.execute(insert).fetchall()
            return
        inside = "moment >= ? AND moment < ?"
        self.connection.execute(
            f"{insert} WHERE why IS NOT NULL OR ({inside})", [*self.window]
        ).fetchall()
        outside = f"SELECT count(*) FROM ({rows} WHERE why IS NULL AND NOT ({inside}))"
        self.outside_window += self.connection.execute(outside, [*self.window]).fetchall()[0][0]

    def result(self, encodings: tuple[Encoding, ...] = ()) -> ReadResult:
        """The loaded rows; refuse a source without usable rows, or counts that do not add up."""
        self._merge_spellings()
        count = "count(DISTINCT line)" if self.source.layout == "lines" else "count(*)"
        counts = Counter(
            dict(
                self.connection.execute(
                    f"SELECT reason, {count} FROM {self.table} GROUP BY reason"
                ).fetchall()
            )
        )
        accepted = counts.pop(None, 0)
        reasons = {reason: counts[reason] for reason in REASONS if counts[reason]}
        self._check_counts(accepted, reasons)
        if accepted:
            self._check_first_line()
        self._check_rejected(sum(reasons.values()))
        names = ", ".join(part.split()[0] for part in self._columns.split(", "))
        rows = f"FROM {self.table} WHERE reason"
        return ReadResult(
            accepted=self.connection.sql(f"SELECT {names}, line {rows} IS NULL"),
            rejected=self.connection.sql(f"SELECT line, reason {rows} IS NOT NULL"),
            lines=self.lines,
            accepted_lines=accepted,
            rejected_by_reason=reasons,
            outside_window=self.outside_window,
            blank_lines=self.blank_lines,
            encodings=encodings,
        )

    def _merge_spellings(self) -> None:
        """Give all rows of a user one spelling; reject users without a visible character."""
        accepted = f"(FROM {self.table} WHERE reason IS NULL)"
        if self.source.kind == "baskets" and records_are_users(self.connection, accepted):
            return
        spellings = user_spellings(self.connection, accepted, self.user_names)
        if not spellings:
            return
        self.connection.execute(
            f"""UPDATE {self.table} SET "user" = spelling,
                reason = CASE WHEN spelling = '' THEN 'user missing' END
            FROM (SELECT unnest(?::VARCHAR[]) AS name, unnest(?::VARCHAR[]) AS spelling)
            WHERE "user" = name AND reason IS NULL""",
            [[*spellings], [*spellings.values()]],
        ).fetchall()

    def _check_counts(self, accepted: int, reasons: dict[str, int]) -> None:
        """Check that no line is lost or counted twice, and that the source has a usable row.

        With a window, a source without any line is accepted: nobody has searched.
        """
        rejected = sum(reasons.values())
        if accepted + rejected + self.outside_window != self.lines:
            raise SetanonError(
                f"every line must be accepted, rejected or outside the window; of {self.lines} "
                f"lines, {accepted} were accepted, {rejected} rejected and {self.outside_window} "
                "outside. Nothing was returned; please report this."
            )
        if not accepted and not self.outside_window and (self.lines or self.window is None):
            why = ", ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "none"
            raise MalformedInputError(
                f"{self.source.name} must have a usable row; none of its {self.lines} lines is "
                f"usable, and {self.blank_lines} more are blank. Rejected lines: {why}. "
                f"{self._remedies(reasons) or 'Check the path'}."
            )

    def _check_rejected(self, rejected: int) -> None:
        """Refuse a source with too many rejected lines: they would be missing in the release."""
        share = self.source.max_rejected
        if rejected <= share * self.lines:
            return
        reasons = self.connection.execute(
            f"""SELECT reason, count(DISTINCT line), min(line) FROM {self.table}
            WHERE reason IS NOT NULL GROUP BY reason ORDER BY 2 DESC, 1"""
        ).fetchall()
        why = "; ".join(f"{reason}: {n:,}, first line {line}" for reason, n, line in reasons)
        remedies = self._remedies([reason for reason, *_ in reasons])
        raise MalformedInputError(
            f"at most max_rejected = {share:.4g} of the lines of {self.source.name} may be "
            f"rejected; {rejected:,} of {self.lines:,} were ({why}). {remedies}. Or set a higher "
            "max_rejected: these lines are then missing in the release."
        )

    def _remedies(self, reasons: Iterable[str]) -> str:
        """What to do about lines rejected for these reasons."""
        remedies = dict(REMEDIES)
        if self.suggested_formats:
            formats = " or ".join(repr(each) for each in dict.fromkeys(self.suggested_formats))
            remedies["time unreadable"] = (
                f"Set time_format={formats}, which reads these times: day and month are not guessed"
            )
        return "; ".join(dict.fromkeys(map(remedies.__getitem__, reasons)))

    def _check_first_line(self) -> None:
        """Refuse a first line that is probably a header with unexpected names."""
        if self.source.header is not None or self.source.table is not None:
            return
        first = f"SELECT reason FROM {self.table} WHERE line = 1"
        if self.connection.execute(first).fetchall() == [("time unreadable",)]:
            raise MalformedInputError(
                f"the first line of {self.source.name} must be a header with the names of the "
                "columns, or a row; its time cannot be parsed. Set header=True, user_column, "
                "time_column and query_column; or header=False to reject the line."
            )
