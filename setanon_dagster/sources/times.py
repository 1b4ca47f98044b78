"""Parse times in SQL, by the format that is set, or by formats that are detected.

DuckDB's own cast is not enough: it accepts `infinity`, and ignores the offset of `10:00+02:00`.
"""

# ruff: noqa: S608 - what is put into a statement is a constant, or a quoted literal

from typing import Final

import duckdb

from setanon_core.errors import InvalidParameterError

_DAY: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_OFFSET: Final = r" ?[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?"
_DECIMAL: Final = "replace(c1, ',', '.')"
"""The text with a decimal point. A comma is a decimal comma only where nothing else is possible:
after the seconds of a clock, and after 9 digits or more."""

_WITH_ZONE: Final = rf"TRY_CAST(regexp_replace({_DECIMAL}, ' ([+-])', '\1') AS TIMESTAMPTZ)"
_SECONDS: Final = (
    f"make_timestamp(CAST(TRY_CAST({_DECIMAL} AS DECIMAL(24, 6)) * 1000000 AS BIGINT))"
)
_MILLISECONDS: Final = "make_timestamp(TRY_CAST(c1 AS BIGINT) * 1000)"
_MICROSECONDS: Final = "make_timestamp(TRY_CAST(c1 AS BIGINT))"
_WITHOUT_ZONE: Final = "TRY_CAST(c1 AS TIMESTAMP)"
_WITHOUT_ZONE_COMMA: Final = f"TRY_CAST({_DECIMAL} AS TIMESTAMP)"
_CANONICAL: Final = f"WHEN CAST({_WITHOUT_ZONE} AS VARCHAR) = c1 THEN {_WITHOUT_ZONE}"
"""Text in DuckDB's own notation needs no pattern (faster); `VALID_TIME` excludes infinity."""


def _to_utc(moment: str) -> str:
    """A moment with or without zone as a UTC timestamp without; needs no time zone tables."""
    return f"make_timestamp(epoch_us({moment}))"


def _parse_by_pattern(*patterns: tuple[str, str], first: str = "") -> str:
    """SQL that parses a cell by the first pattern that matches all of it."""
    cases = (f"WHEN regexp_full_match(c1, '{regex}') THEN {value}" for regex, value in patterns)
    return f"CASE {first} {' '.join(cases)} END"


DETECTABLE_FORMATS: Final = {
    "iso": _parse_by_pattern(
        (f"{_DAY}(?:{_CLOCK}Z?)?", _WITHOUT_ZONE_COMMA),
        (f"{_DAY}{_CLOCK}{_OFFSET}", _to_utc(_WITH_ZONE)),
        first=_CANONICAL,
    ),
    "yymmddhhmmss": _parse_by_pattern((r"\d{12}", "try_strptime(c1, '%y%m%d%H%M%S')")),
    "yyyymmddhhmmss": _parse_by_pattern((r"\d{14}", "try_strptime(c1, '%Y%m%d%H%M%S')")),
    # Fewer digits may be a date without dashes: then time_format="epoch" must be set.
    "epoch": _parse_by_pattern((r"\d{9,11}(?:[.,]\d{1,6})?", _SECONDS)),
    # 12 and 14 digits are dates; milliseconds and microseconds from September 2001 on have these.
    "epoch_ms": _parse_by_pattern((r"\d{13}", _MILLISECONDS)),
    "epoch_us": _parse_by_pattern((r"\d{16}", _MICROSECONDS)),
}
"""Formats that can be detected, with their SQL over the text c1; the first wins a tie. No text has
two of them."""

NAMED_FORMATS: Final = DETECTABLE_FORMATS | {
    "epoch": _parse_by_pattern(
        (r"-?\d{1,11}(?:\.\d{1,6})?", _SECONDS), (r"-?\d{9,11},\d{1,6}", _SECONDS)
    ),
    "epoch_ms": _parse_by_pattern((r"-?\d{1,15}", _MILLISECONDS)),
    "epoch_us": _parse_by_pattern((r"-?\d{1,18}", _MICROSECONDS)),
}
"""Formats that can be set by name, as `time_format`."""

MIXED: Final = ("iso", "epoch", "epoch_ms", "epoch_us")
"""Formats that may occur beside the most frequent one. Of 12 or 14 digits alone, nobody can say
whether they are a date."""

DATES: Final = tuple(
    date.replace("/", mark)
    for mark in "/.-"
    for date in ("%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d")
)
CLOCKS: Final = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
SAMPLE: Final = 1000
"""Unread times that formats are suggested from."""

NATIVE_TIMESTAMP: Final = "c1"
"""SQL for a column that has a timestamp type already."""

VALID_TIME: Final = "BETWEEN '0001-01-01'::TIMESTAMP AND '9999-12-31 23:59:59.999999'::TIMESTAMP"
"""The years that Python's datetime supports; excludes infinity."""


UTC: Final = "UTC"
ZONED_ISO: Final = f".*{_CLOCK}(?:Z|{_OFFSET})"


def local_to_utc(moment: str, timezone: str) -> str:
    """SQL for a time of a clock in this time zone as a UTC timestamp.

    In the hour that a clock repeats in autumn, one of the two is chosen, and in the hour that it
    skips in spring, the time after it: each time is one moment, and so in one partition.
    """
    return moment if timezone == UTC else _to_utc(f"timezone({_literal(timezone)}, {moment})")


def in_timezone(moment: str, timezone: str) -> str:
    """SQL for a UTC timestamp as the time of a clock in this time zone."""
    if timezone == UTC:
        return moment
    return f"timezone({_literal(timezone)}, timezone('UTC', {moment}))"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _in_zone(time_format: str, sql: str, timezone: str) -> str:
    """SQL of a format; times without an offset are those of a clock in this time zone."""
    if time_format.startswith("epoch") or "%z" in time_format or "%Z" in time_format:
        return sql
    local = local_to_utc(f"({sql})", timezone)
    if time_format != "iso" or local == f"({sql})":
        return local
    return f"CASE WHEN regexp_full_match(c1, '{ZONED_ISO}') THEN ({sql}) ELSE {local} END"


def time_sql(time_format: str, timezone: str = UTC) -> str:
    """SQL that parses the text c1 by a format name or a strptime format."""
    if time_format in NAMED_FORMATS:
        return _in_zone(time_format, NAMED_FORMATS[time_format], timezone)
    sql = f"try_strptime(c1, {_literal(time_format)})"
    try:
        duckdb.connect().execute(f"SELECT {sql} FROM (SELECT '' AS c1)").fetchall()
    except duckdb.Error:
        supported = False
    else:
        supported = "%" in time_format
    if not supported:
        raise InvalidParameterError(
            f"time_format must be one of {', '.join(NAMED_FORMATS)}, or a strptime format such as "
            "'%d/%m/%Y %H:%M'; DuckDB does not support this one."
        )
    return _in_zone(time_format, _to_utc(sql), timezone)


def detect_time_sql(connection: duckdb.DuckDBPyConnection, table: str, timezone: str = UTC) -> str:
    """SQL for the format that parses most times of this table, then for `MIXED` formats."""
    columns = ", ".join(
        f"count(*) FILTER (WHERE ({sql}) {VALID_TIME})" for sql in DETECTABLE_FORMATS.values()
    )
    counts = connection.execute(f"SELECT {columns} FROM {table} WHERE reason IS NULL").fetchall()[0]
    times = dict(zip(DETECTABLE_FORMATS, counts, strict=True))
    best = max(times, key=times.__getitem__)
    names = dict.fromkeys((best, *MIXED))
    formats = (_in_zone(name, DETECTABLE_FORMATS[name], timezone) for name in names)
    return f"coalesce({', '.join(formats)})"


def suggest_formats(connection: duckdb.DuckDBPyConnection, table: str, time_sql: str) -> list[str]:
    """Formats with day, month and year that parse all of the times that `time_sql` does not parse.

    They are suggested, not used: of `02/03/2026`, nobody can say which number is the day.
    """
    unread = f"""SELECT c1 FROM {table} WHERE reason IS NULL AND trim(c1) <> ''
        AND ({time_sql}) IS NULL LIMIT {SAMPLE}"""
    formats = [date + clock for date in DATES for clock in CLOCKS]
    columns = ", ".join(f"count(try_strptime(c1, '{each}'))" for each in formats)
    total, *counts = connection.execute(f"SELECT count(*), {columns} FROM ({unread})").fetchall()[0]
    return [each for each, n in zip(formats, counts, strict=True) if n == total > 0]
