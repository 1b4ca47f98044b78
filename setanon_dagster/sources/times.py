"""Times as text, read by SQL: one notation for all rows of a file.

DuckDB's own cast is not enough: it reads `infinity`, and drops the offset of `10:00+02:00`.
"""

# ruff: noqa: S608 - what is put into a statement is a constant, or a quoted literal

from typing import Final

import duckdb

from setanon_core.errors import InvalidParameterError

_DAY: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
_OFFSET: Final = r" ?[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?"
_FRACTION: Final = r"(?:\.\d{1,6})?"
_ZONED: Final = r"TRY_CAST(regexp_replace(c1, ' ([+-])', '\1') AS TIMESTAMPTZ)"
_SECONDS: Final = "make_timestamp(CAST(TRY_CAST(c1 AS DECIMAL(24, 6)) * 1000000 AS BIGINT))"


_PLAINLY: Final = "TRY_CAST(c1 AS TIMESTAMP)"
_AS_WRITTEN: Final = f"WHEN CAST({_PLAINLY} AS VARCHAR) = c1 THEN {_PLAINLY}"
"""What DuckDB would write itself needs no pattern; infinity among it is no possible time."""


def _utc(moment: str) -> str:
    """A moment with or without zone as a UTC timestamp without; needs no time zone tables."""
    return f"make_timestamp(epoch_us({moment}))"


def _shaped(*readings: tuple[str, str], first: str = "") -> str:
    """SQL that reads a cell by the first pattern that it has from end to end."""
    cases = (f"WHEN regexp_full_match(c1, '{shape}') THEN {value}" for shape, value in readings)
    return f"CASE {first} {' '.join(cases)} END"


NOTATIONS: Final = {
    "iso": _shaped(
        (f"{_DAY}(?:{_CLOCK}Z?)?", _PLAINLY),
        (f"{_DAY}{_CLOCK}{_OFFSET}", _utc(_ZONED)),
        first=_AS_WRITTEN,
    ),
    "yymmddhhmmss": _shaped((r"\d{12}", "try_strptime(c1, '%y%m%d%H%M%S')")),
    "yyyymmddhhmmss": _shaped((r"\d{14}", "try_strptime(c1, '%Y%m%d%H%M%S')")),
    # Fewer digits may be a date without dashes: who means seconds must say so.
    "epoch": _shaped((r"\d{9,11}" + _FRACTION, _SECONDS)),
}
"""The notations that are found out, with their SQL over the text c1; a tie goes to the first."""

NAMED: Final = NOTATIONS | {"epoch": _shaped((r"-?\d{1,11}" + _FRACTION, _SECONDS))}
"""The notations that can be asked for by name, as `time_format`."""

TYPED: Final = "c1"
"""What a column of timestamps needs."""

POSSIBLE: Final = "BETWEEN '0001-01-01'::TIMESTAMP AND '9999-12-31 23:59:59.999999'::TIMESTAMP"
"""No infinity, and no year that Python has not."""


def reading(time_format: str) -> str:
    """SQL for a notation by name, or for a format of strptime."""
    if time_format in NAMED:
        return NAMED[time_format]
    literal = time_format.replace("'", "''")
    sql = f"try_strptime(c1, '{literal}')"
    try:
        duckdb.connect().execute(f"SELECT {sql} FROM (SELECT '' AS c1)").fetchall()
    except duckdb.Error:
        known = False
    else:
        known = "%" in time_format
    if not known:
        raise InvalidParameterError(
            f"time_format must be one of {', '.join(NAMED)}, or a format such as "
            "'%d/%m/%Y %H:%M'; DuckDB's strptime does not know the one given."
        )
    return _utc(sql)


def commonest(connection: duckdb.DuckDBPyConnection, chunk: str) -> str | None:
    """SQL for the notation that reads most times of this table; None if none reads any."""
    counts = ", ".join(f"count(*) FILTER (WHERE ({sql}) {POSSIBLE})" for sql in NOTATIONS.values())
    found = connection.execute(f"SELECT {counts} FROM {chunk} WHERE reason IS NULL").fetchall()[0]
    best = max(range(len(found)), key=found.__getitem__)
    return list(NOTATIONS.values())[best] if found[best] else None
