"""Inputs as columns: a query log, or baskets."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from setanon_core.errors import MalformedInputError

COLUMNS = ("user", "time", "query")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """Queries as columns: who typed what, and when (integers, or dates with times)."""

    users: Sequence[Hashable] | npt.NDArray[Any]
    times: Sequence[Any] | npt.NDArray[Any]
    queries: Sequence[str]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]]) -> "Log":
        """Take rows of (user, time, query)."""
        if not isinstance(rows, Iterable):
            raise MalformedInputError(
                f"a log must be rows of ({', '.join(COLUMNS)}); got a value of type "
                f"{type(rows).__name__}."
            )
        listed = list(rows)
        odd = sum(not _is_row(row) for row in listed)
        if odd:
            raise MalformedInputError(
                f"every row of a log must be ({', '.join(COLUMNS)}); {odd} of {len(listed)} are "
                "not. Pass columns as Log(users, times, queries)."
            )
        return cls(*([row[column] for row in listed] for column in range(len(COLUMNS))))


def _is_row(row: object) -> bool:
    """Whether it has three places: a mapping has keys, and text has letters."""
    return (
        hasattr(row, "__getitem__")
        and hasattr(row, "__len__")
        and not isinstance(row, str | bytes | Mapping)
        and len(row) == len(COLUMNS)
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Baskets:
    """One row for each item of a basket: the basket, the item and, if known, the user."""

    records: Sequence[Hashable]
    items: Sequence[Hashable]
    users: Sequence[Hashable] | None = None

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], separator: str | None = None, *, with_user: bool = False
    ) -> "Baskets":
        """Take one basket a line: a user, if asked for, and items, all parted by the separator.

        A basket is known by the number of its line, from 1. Without a separator, blanks part.
        Blank items are left out, and a blank line is no basket.

        >>> baskets = Baskets.from_lines(["ann,milk,bread", "bob,milk"], ",", with_user=True)
        >>> baskets.records, baskets.items, baskets.users
        ([1, 1, 2], ['milk', 'bread', 'milk'], ['ann', 'ann', 'bob'])
        """
        records: list[Hashable] = []
        items: list[Hashable] = []
        users: list[Hashable] = []
        for number, line in enumerate(lines, start=1):
            cells = [cell.strip() for cell in line.rstrip("\r\n").split(separator)]
            user = cells.pop(0) if with_user and cells else None
            own = [cell for cell in cells if cell]
            if with_user and own and not user:
                raise MalformedInputError(f"every basket must have a user; line {number} has none.")
            records.extend([number] * len(own))
            items.extend(own)
            users.extend([user] * len(own))
        return cls(records, items, users if with_user else None)
