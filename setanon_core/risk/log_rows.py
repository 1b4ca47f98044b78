"""Rows of a log as tuples, to add or remove those of some users."""

from collections.abc import Collection, Hashable
from typing import Any

from setanon_core.model.inputs import Log

Row = tuple[Hashable, Any, str]
"""User, time and query."""


def log_rows(log: Log) -> list[Row]:
    """The rows of a log with any kind of columns."""
    return list(zip(*map(_values, (log.users, log.times, log.queries)), strict=True))


def log_of_rows(rows: Collection[Row]) -> Log:
    """A log of these rows; unlike `Log.from_rows` it may be empty."""
    users, times, queries = zip(*rows, strict=True) if rows else ((), (), ())
    return Log(list(users), list(times), list(queries))


def without_users(rows: Collection[Row], users: Collection[Hashable]) -> list[Row]:
    """The rows of all other users."""
    removed = set(users)
    return [row for row in rows if row[0] not in removed]


def of_users(rows: Collection[Row], users: Collection[Hashable]) -> list[Row]:
    """The rows of these users."""
    kept = set(users)
    return [row for row in rows if row[0] in kept]


def _values(column: Any) -> list[Any]:  # noqa: ANN401 - any column
    # Arrow, NumPy and pandas columns yield objects of their own when they are iterated.
    to_list = next((name for name in ("to_pylist", "tolist") if hasattr(column, name)), None)
    return list(column if to_list is None else getattr(column, to_list)())
