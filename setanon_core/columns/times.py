"""Times as integers in the same order: numbers, datetimes, dates, and texts in ISO format.

Only the order of times is used: numbers may count any unit since any day, the same one in all rows.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, integer_column, require_unmasked
from setanon_core.columns.encode import encode_first_seen, is_missing
from setanon_core.errors import MalformedInputError

# Stricter than `fromisoformat`, which reads some numbers as dates and any sign as the separator.
_ISO: Final = re.compile(
    r"(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?) ?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)


def encode_times(times: npt.ArrayLike) -> Ints:
    """Convert times to integers in the same order; those without a zone are read as UTC.

    Integers are returned unchanged, other numbers by rank, all other times in microseconds or in
    the unit of their NumPy type.

    >>> encode_times(["2006-03-01T12:00:00Z", "1970-01-01"]).tolist()
    [1141214400000000, 0]
    >>> encode_times([0.5, 0.25]).tolist()
    [1, 0]
    """
    require_unmasked("times", times)
    try:
        column = np.asarray(times)
    except ValueError:  # lists of several lengths
        raise MalformedInputError(
            "times must be one column of numbers, datetimes or texts; got nested values."
        ) from None
    if column.ndim == 1 and column.dtype.kind in "OU":
        column = _parse_objects(column.tolist())
    if column.dtype.kind == "M":
        _require_no_missing(int(np.isnat(column).sum()))
        column = column.astype(np.int64)
    if column.ndim == 1 and column.dtype.kind == "f":
        column = _rank_floats(column)
    if column.ndim == 1 and len(column) and column.dtype.kind not in "iu":
        _refuse_types(column.tolist())
    return integer_column("times", column)


def _parse_objects(times: list[Any]) -> npt.NDArray[Any]:
    if all(isinstance(each, str) for each in times):
        return _parse_texts(times)
    _require_no_missing(sum(map(is_missing, times)))
    if all(isinstance(each, date) for each in times):
        return _utc(
            each if isinstance(each, datetime) else datetime.combine(each, time()) for each in times
        )
    if all(isinstance(each, int) for each in times):  # beyond 64 bits
        raise MalformedInputError("times must be numbers below 2^63.")
    _refuse_types(times)
    return np.empty(0)


def _parse_texts(texts: list[str]) -> npt.NDArray[np.datetime64]:
    numbers, distinct = encode_first_seen(texts)
    parsed = [_parse_iso(text) for text in distinct]
    unread = np.array([each is None for each in parsed], np.bool_)
    if unread.any():
        raise MalformedInputError(
            "times must be in ISO format if they are texts, such as 2026-03-02 08:00:00; "
            f"{int(unread[numbers].sum())} of {len(texts)} are not. Convert the column, for "
            "example with pandas.to_datetime(column, format=...) or, if it counts seconds or "
            "milliseconds, with column.astype(int)."
        )
    return _utc(each for each in parsed if each is not None)[numbers]


def _parse_iso(text: str) -> datetime | None:
    match = _ISO.fullmatch(text.strip())
    try:
        return datetime.fromisoformat("".join(filter(None, match.groups()))) if match else None
    except ValueError:  # no such day, hour or zone
        return None


def _utc(times: Iterable[datetime]) -> npt.NDArray[np.datetime64]:
    listed = list(times)
    # Not by astimezone: it overflows at datetime.min and datetime.max.
    local = np.asarray([each.replace(tzinfo=None) for each in listed], "datetime64[us]")
    offset = [each.utcoffset() or timedelta() for each in listed]
    utc: npt.NDArray[np.datetime64] = local - np.asarray(offset, "timedelta64[us]")
    return utc


def _rank_floats(column: npt.NDArray[Any]) -> Ints:
    _require_no_missing(int(np.isnan(column).sum()))
    if np.isinf(column).any():
        raise MalformedInputError(
            f"times must be finite numbers; {int(np.isinf(column).sum())} are infinite."
        )
    return np.unique(column, return_inverse=True)[1].astype(np.int64)


def _refuse_types(times: list[Any]) -> None:
    types = sorted({type(each).__name__ for each in times})
    raise MalformedInputError(
        "times must be one column of numbers, of datetimes, of dates, or of texts in ISO format; "
        f"got values of type {', '.join(types)}. Convert them, for example with "
        "pandas.to_datetime."
    )


def _require_no_missing(missing: int) -> None:
    if missing:
        raise MalformedInputError(
            f"every query must have a time; {missing} have none. Drop these rows."
        )
