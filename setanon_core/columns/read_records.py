"""Read records of any form: collections, lists, tables with one row per item, one-hot data."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np

from setanon_core.columns.arrays import (
    Ints,
    first_positions,
    inverse_permutation,
    offsets_of,
)
from setanon_core.columns.code_lines import LONG, refuse_other
from setanon_core.columns.encode import encode_values
from setanon_core.columns.one_hot import OneHot, is_matrix, read_matrix, read_one_hot
from setanon_core.columns.records import Records
from setanon_core.columns.tables import (
    Table,
    TableConstructor,
    constructor_of,
    is_table,
    read_columns,
)
from setanon_core.columns.user_names import merge_spellings
from setanon_core.columns.users import encode_users, user_of_each_record
from setanon_core.errors import MalformedInputError
from setanon_core.params import UserNames

Layout = Literal["lists", "pairs", "one_hot"]
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordInput:
    """Records, and the form in which they were passed."""

    records: Records
    layout: Layout = "lists"
    constructor: TableConstructor = dict
    item_columns: Ints | None = None
    """The input column of each item of the vocabulary, for one-hot data."""

    n_columns: int | None = None
    """The number of these columns, used or not."""

    def columns_of(self, items: Iterable[Hashable]) -> Ints | None:
        """The input columns of some items, for one-hot data."""
        if self.item_columns is None:
            return None
        numbers = dict(zip(self.records.vocabulary, self.item_columns.tolist(), strict=True))
        return np.array([numbers[item] for item in items], np.int64)


def read_records(  # noqa: PLR0913 - the columns, keyword-only
    data: Records | Table | Iterable[Collection[Hashable]],
    *,
    users: Any = None,  # noqa: ANN401 - any column
    record: str | None = None,
    item: str | None = None,
    user: str | None = None,
    user_names: UserNames = "folded",
    allow_empty: bool = False,
) -> RecordInput:
    """Read data of any form that `anonymize` accepts; refuse all others and empty data.

    With `allow_empty`, data without a record are read.
    """
    table = is_table(data)
    _check_columns(data, {"record": record, "item": item, "user": user}, table=table)
    _check_users(users, user)
    merged = merge_spellings(users, user_names)
    if isinstance(data, Records):
        source = RecordInput(_without_users(data, users))
    elif item is not None and record is not None:
        if users is not None:
            raise MalformedInputError(
                "users must be a column of a table with one row per item; got a separate sequence. "
                "Add it to the table and name it as user='...'."
            )
        source = _read_pairs(data, record, item, user, user_names)
    elif table:
        if user is not None:
            merged = merge_spellings(read_columns(data, {"user": user})[0], user_names)
        source = _from_one_hot(read_one_hot(data, user), merged, constructor_of(data))
    elif is_matrix(data):
        source = _from_one_hot(read_matrix(data), merged, dict)
    else:
        source = _read_collections(data, merged)
    if len(source.records) == 0 and not allow_empty:
        raise MalformedInputError("records must have at least one record; got none.")
    return source


def _check_columns(data: object, names: Mapping[str, str | None], *, table: bool) -> None:
    named = [parameter for parameter, name in names.items() if name is not None]
    if named and not table:
        raise MalformedInputError(
            f"{', '.join(named)} must name columns of a table; the data are a value of type "
            f"{type(data).__name__}. Pass users=... for records that are not a table."
        )
    if ("record" in named) != ("item" in named):
        raise MalformedInputError(
            f"record and item must be named together; got {', '.join(named)} only. Call {LONG}."
        )


def _check_users(users: object, user: str | None) -> None:
    if users is not None and user is not None:
        raise MalformedInputError(
            "users and user must not be passed together: user names a column of the table. Pass "
            "one of them."
        )
    if users is not None and not _is_sequence(users):
        raise MalformedInputError(
            "users must be a sequence with one user for each record; got a value of type "
            f"{type(users).__name__}. Convert it to a list."
        )


def _without_users(records: Records, users: object) -> Records:
    if users is not None:
        raise MalformedInputError(
            "users must not be passed with Records, which have users already. "
            "Pass them to Records.from_columns."
        )
    return records


def _read_pairs(
    table: Table, record: str, item: str, user: str | None, user_names: UserNames
) -> RecordInput:
    """Read one row per item; records in the order of their first rows."""
    records, items, users = read_columns(table, {"record": record, "item": item, "user": user})
    merged = merge_spellings(users, user_names)
    sorted_number, names = encode_values(records, "record")
    numbers = inverse_permutation(np.argsort(first_positions(sorted_number)))[sorted_number]
    codes, vocabulary = encode_values(items)
    if len(codes) != len(numbers):
        raise MalformedInputError(
            f"every row must have a record and an item; got {len(numbers)} records and "
            f"{len(codes)} items."
        )
    owners = None
    if merged is not None:
        owners = user_of_each_record(encode_users(merged, len(numbers)), numbers, len(names))
    order = np.argsort(numbers, kind="stable")
    offsets = offsets_of(np.bincount(numbers, minlength=len(names)))
    read = Records.from_columns(codes[order], offsets, owners, vocabulary)
    return RecordInput(read, "pairs", constructor_of(table))


def _from_one_hot(cells: OneHot, users: Any, constructor: TableConstructor) -> RecordInput:  # noqa: ANN401 - any column
    records, item_columns = cells.to_records(users)
    return RecordInput(records, "one_hot", constructor, item_columns, len(cells.items))


def _read_collections(data: Any, users: Any) -> RecordInput:  # noqa: ANN401 - any iterable, any column
    if hasattr(data, "dictionary_encode"):  # an Arrow column
        return RecordInput(Records.from_arrow(data, users))
    if not isinstance(data, Iterable) or getattr(data, "ndim", 1) != 1:
        refuse_other(data)
    if hasattr(data, "to_list") and hasattr(data, "to_frame"):  # a Series
        # Plain Python values instead of NumPy scalars.
        lists = (each.tolist() if isinstance(each, np.ndarray) else each for each in data.to_list())
        records = Records.from_sets(lists, users)
        return RecordInput(records, constructor=type(data.to_frame()))
    return RecordInput(Records.from_sets(data, users))


def _is_sequence(users: object) -> bool:
    """Whether users are ordered: sets and mappings are not."""
    if isinstance(users, np.ndarray):
        return users.ndim == 1
    return hasattr(users, "__getitem__") and not isinstance(users, Mapping | str | bytes)
