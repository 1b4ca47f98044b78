"""The inputs as columns: a query log, or baskets."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from setanon_core.attribute_names import Attribute
from setanon_core.columns.read_records import read_records
from setanon_core.columns.tables import (
    Table,
    TableConstructor,
    constructor_of,
    is_table,
    read_columns,
)
from setanon_core.errors import InvalidParameterError, MalformedInputError

LOG_COLUMNS = ("user", "time", "query")


def read_attributes(
    table: Table, declared: Sequence[str], others: Collection[str | None]
) -> dict[str, Any]:
    """The columns of a table that are declared as attributes, by their published names.

    `others` are the columns that no attribute may be.
    """
    parsed = [Attribute.parse(each) for each in declared]
    if any(each.is_host for each in parsed):
        raise MalformedInputError(
            "attributes must be columns of the table in Python; got host:COLUMN. Add a column with "
            "the hosts."
        )
    known = sum(each.source in others for each in parsed)
    if known:
        raise InvalidParameterError(
            "attributes must be other columns than those of users, times, queries, records and "
            f"items; {known} of them are. Add a column with the values to publish."
        )
    values = (read_columns(table, {"attributes": each.source})[0] for each in parsed)
    return dict(zip((each.name for each in parsed), values, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log:
    """A query log: one user, time (integer or datetime) and query per row."""

    users: Sequence[Hashable] | npt.NDArray[Any]
    times: Sequence[Any] | npt.NDArray[Any]
    queries: Sequence[str]
    constructor: TableConstructor = field(default=dict, kw_only=True)
    """Builds the tables of results: that of the table the log was read from."""

    attributes: Mapping[str, Sequence[Hashable]] = field(default_factory=dict, kw_only=True)
    """For each attribute, its value in each row; None: the row has none."""

    def __repr__(self) -> str:
        """The number of rows only: a traceback or a log must not show any data."""
        return f"Log({len(self.queries)} queries)"

    @classmethod
    def from_data(
        cls,
        data: "Log | Table | Iterable[Sequence[Any]]",
        *,
        user: str = "user",
        time: str = "time",
        query: str = "query",
        attributes: Sequence[str] = (),
    ) -> "Log":
        """Read a log from a table with these columns, or from rows of (user, time, query).

        `attributes` are further columns of a table, or NAME=COLUMN.

        >>> Log.from_data({"who": ["ann"], "time": [1], "query": ["tea"]}, user="who").queries
        ['tea']
        """
        if isinstance(data, Log):
            return data
        if is_table(data):
            columns = read_columns(data, {"user": user, "time": time, "query": query})
            values = read_attributes(data, attributes, {user, time, query})
            return cls(*columns, constructor=constructor_of(data), attributes=values)
        if attributes:
            raise MalformedInputError(
                "attributes must be columns of a table; got rows. Pass a data frame, or "
                "Log(users, times, queries, attributes={...})."
            )
        return cls.from_rows(data)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]]) -> "Log":
        """Read a log from rows of (user, time, query)."""
        expected = f"({', '.join(LOG_COLUMNS)})"
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
            raise MalformedInputError(
                f"a log must be a table or rows of {expected}; got a value of type "
                f"{type(rows).__name__}. Read a file into a table first."
            )
        listed = list(rows)
        malformed = sum(not _is_row(row) for row in listed)
        if malformed:
            raise MalformedInputError(
                f"every row of a log must be {expected}; {malformed} of {len(listed)} are "
                "not. Pass tuples, a table, or columns as Log(users, times, queries)."
            )
        return cls(*([row[column] for row in listed] for column in range(len(LOG_COLUMNS))))


def _is_row(row: object) -> bool:
    """Whether it is a sequence of three values; texts and mappings are not."""
    return (
        hasattr(row, "__getitem__")
        and hasattr(row, "__len__")
        and not isinstance(row, str | bytes | Mapping)
        and len(row) == len(LOG_COLUMNS)
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Baskets:
    """Baskets: one record (basket), item and optionally user per row."""

    records: Sequence[Hashable]
    items: Sequence[Hashable]
    users: Sequence[Hashable] | None = None
    constructor: TableConstructor = field(default=dict, kw_only=True)
    """Builds the tables of results: that of the table the baskets were read from."""

    attributes: Mapping[str, Sequence[Hashable]] = field(default_factory=dict, kw_only=True)
    """For each attribute, its value in each row; None: the row has none."""

    def __repr__(self) -> str:
        """The number of rows only: a traceback or a log must not show any data."""
        return f"Baskets({len(self.items)} items)"

    @classmethod
    def from_data(
        cls,
        data: "Baskets | Table",
        *,
        record: str = "record",
        item: str = "item",
        user: str | None = None,
        attributes: Sequence[str] = (),
    ) -> "Baskets":
        """Read baskets from a table with these columns.

        `attributes` are further columns, or NAME=COLUMN.

        >>> Baskets.from_data({"record": [1, 1, 2], "item": ["tea", "milk", "tea"]})
        Baskets(3 items)
        """
        if isinstance(data, Baskets):
            return data
        if is_table(data):
            columns = read_columns(data, {"record": record, "item": item, "user": user})
            values = read_attributes(data, attributes, {record, item, user})
            return cls(*columns, constructor=constructor_of(data), attributes=values)
        raise MalformedInputError(
            "baskets must be a table with a column of records and one of items; got a value of "
            f"type {type(data).__name__}. For sets, lists of items or a 0/1 matrix, pass "
            "Baskets.from_sets(data)."
        )

    @classmethod
    def from_sets(
        cls,
        sets: Any,  # noqa: ANN401 - all that `anonymize` reads
        users: Sequence[Hashable] | None = None,
        *,
        user: str | None = None,
    ) -> "Baskets":
        """Read baskets from collections, a column of lists, or a one-hot table or matrix.

        Records are numbered from 0. Baskets without items are left out. `user` names a column of
        the table. Users are numbers here: spellings that are folded are one user already.

        >>> Baskets.from_sets([{"tea"}, {"tea"}]).records
        [0, 1]
        """
        source = read_records(sets, users=users, user=user)
        records = source.records
        rows = records.rows
        return cls(
            rows.tolist(),
            [records.vocabulary[item] for item in records.items.tolist()],
            None if users is None and user is None else records.users[rows].tolist(),
            constructor=source.constructor,
        )

    @classmethod
    def from_lines(
        cls, lines: Iterable[str], separator: str | None = None, *, with_user: bool = False
    ) -> "Baskets":
        """Read one basket per line: its items and, with `with_user`, first its user.

        The cells of a line are separated by `separator`, or by whitespace if it is None. Records
        are line numbers from 1. Empty cells are skipped; a line without items has no basket.

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
            basket = [cell for cell in cells if cell]
            if with_user and basket and not user:
                raise MalformedInputError(f"every basket must have a user; line {number} has none.")
            records.extend([number] * len(basket))
            items.extend(basket)
            users.extend([user] * len(basket))
        return cls(records, items, users if with_user else None)
