"""Refuse tables and matrices that cannot be read, with the line of code that makes them right.

Columns are named by their numbers: the names may be items, or the first record of a file that was
read with its first line as header.
"""

from collections.abc import Sequence
from typing import Final

from setanon_core.columns.tables import library_of
from setanon_core.errors import MalformedInputError

LISTED: Final = 5
"""Column numbers in an error; more are counted."""

LONG: Final = "anonymize(data, k, record='...', item='...', user='...')"
"""The call for a table with one row per item."""

POSITIVE: Final = {
    "arrow": "data.to_pandas() > 0",
    "mapping": "pandas.DataFrame(data) > 0",
}
"""Turns counts into one-hot values, where `data > 0` does not."""

FILLED: Final = {
    "arrow": "data.to_pandas().fillna(0)",
    "mapping": "pandas.DataFrame(data).fillna(0)",
    "numpy": "data == 1",
    "polars": "data.cast(polars.Int8).fill_null(0)",
    "sparse": "data == 1",
}
"""Replaces missing values by 0, where `data.fillna(0)` does not."""

ROWS: Final = {
    "arrow": "[set(row.values()) - {None} for row in data.to_pylist()]",
    "mapping": "[set(row) for row in zip(*data.values())]",
    "numpy": "[set(row) for row in data.tolist()]",
    "polars": "[set(row) - {None} for row in data.iter_rows()]",
    "sparse": "[set(row) for row in data.toarray().tolist()]",
}
"""Reads each row as the items of one record, where the line for pandas does not."""

PANDAS_ROWS: Final = "[set(row.dropna()) for _, row in data.iterrows()]"

WITHOUT: Final = {
    "arrow": "data.drop_columns([data.column_names[i] for i in {0}])",
    "mapping": "{{name: data[name] for i, name in enumerate(data) if i not in {0}}}",
    "numpy": "numpy.delete(data, {0}, axis=1)",
    "polars": "data.drop([data.columns[i] for i in {0}])",
}
"""Leaves columns out, where the line for pandas does not."""

PANDAS_WITHOUT: Final = "data.drop(columns=data.columns[{0}])"

COLUMN: Final = {
    "arrow": "data.column({0})",
    "mapping": "list(data.values())[{0}]",
    "polars": "data.to_series({0})",
}
"""Selects one column, where `data.iloc[:, {0}]` does not."""

COLLECTED: Final = {
    "collect": "data.collect()",
    "to_arrow_table": "data.to_arrow_table()",
    "toPandas": "data.toPandas()",
    "compute": "data.compute()",
    "to_numpy": "data.to_numpy()",
}
"""Loads a table of another library, by a method that it has."""


def refuse_missing(data: object, missing: int) -> None:
    """Refuse missing values of a one-hot table or matrix."""
    filled = FILLED.get(library_of(data), "data.fillna(0)")
    raise MalformedInputError(
        f"no value of a one-hot table may be missing; {missing} are. "
        f"If missing means 0, call anonymize({filled}, k)."
    )


def refuse_numbers(data: object, values: int, columns: Sequence[int], width: int) -> None:
    """Refuse numbers other than 0 and 1 of a one-hot table or matrix; some columns may be ids."""
    library = library_of(data)
    if len(columns) < width and library in WITHOUT.keys() | {"pandas"}:
        without = WITHOUT.get(library, PANDAS_WITHOUT).format(list(columns))
        users = "users=..." if library == "numpy" else "user='...'"
        ids = (
            f" If these columns are no items, pass those of users as {users}, and leave the others "
            f"out: anonymize({without}, k)."
        )
    else:
        ids = ""
    positive = POSITIVE.get(library, "data > 0")
    raise MalformedInputError(
        f"every value of a one-hot table must be 0 or 1; {values} are other numbers, in "
        f"{_listed(columns)}. Call anonymize({positive}, k) if they are counts, "
        f"anonymize({ROWS.get(library, PANDAS_ROWS)}, k) if each row has the items of one record, "
        f"or {LONG} if each row has one item.{ids}"
    )


def refuse_table(data: object, columns: Sequence[int], width: int) -> None:
    """Refuse a table some of whose columns are not numbers; other columns may be one-hot."""
    library = library_of(data)
    if len(columns) < width:
        without = WITHOUT.get(library, PANDAS_WITHOUT).format(list(columns))
        raise MalformedInputError(
            f"every column of a one-hot table must have the values 0 and 1 only; "
            f"{_listed(columns)} of {width} have others. Name the column of users as user='...', "
            f"and leave the others out: anonymize({without}, k)."
        )
    rows = ROWS.get(library, PANDAS_ROWS)
    raise MalformedInputError(
        "a table must have one row per item, or one 0/1 column per item. Call "
        f"{LONG} for one row per item; anonymize({rows}, k) if each row has the items of one "
        "record."
    )


def refuse_lists(data: object, column: int) -> None:
    """Refuse a table with a column of lists: the column alone is read."""
    selected = COLUMN.get(library_of(data), "data.iloc[:, {0}]").format(column)
    raise MalformedInputError(
        f"a table must have one row per item, or one 0/1 column per item; column {column} has "
        f"lists. Call anonymize({selected}, k, users=...)."
    )


def refuse_other(data: object) -> None:
    """Refuse what is neither a collection of records nor a table that is loaded."""
    loaded = next((code for name, code in COLLECTED.items() if hasattr(data, name)), None)
    advice = "Pass a list of sets." if loaded is None else f"Call anonymize({loaded}, k, ...)."
    raise MalformedInputError(
        "records must be an iterable of collections of items, a table or a 0/1 matrix; got a value "
        f"of type {type(data).__name__}. {advice}"
    )


def _listed(columns: Sequence[int]) -> str:
    if len(columns) == 1:
        return f"column {columns[0]}"
    more = f" and {len(columns) - LISTED} more" if len(columns) > LISTED else ""
    return f"columns {', '.join(map(str, columns[:LISTED]))}{more}"
