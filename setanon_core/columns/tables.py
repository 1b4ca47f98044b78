"""Tables of other libraries by duck typing: pandas, Polars, Arrow, or a mapping of columns.

None of these libraries is imported, except by `constructor_named` on request. A table is read
column by column; results are built by the constructor of the table that was passed in.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from setanon_core.errors import MalformedInputError, MissingPackageError

Table = Any
"""A pandas or Polars data frame, an Arrow table or record batch, or a mapping of columns."""

TableConstructor = Callable[[dict[Any, Any]], Any]
"""Builds a table from lists or arrays by column name, such as `pandas.DataFrame`."""


def is_table(data: object) -> bool:
    """Whether the data have columns with names."""
    return isinstance(data, Mapping) or _is_arrow(data) or _is_frame(data)


def constructor_of(data: object) -> TableConstructor:
    """The constructor of tables of the type of `data`; `dict` if `data` is not a table.

    >>> constructor_of({"user": ["ann"]})({"k": [2, 3]})
    {'k': [2, 3]}
    """
    if _is_arrow(data):
        constructor: TableConstructor = type(data).from_pydict  # type: ignore[attr-defined]
        return constructor
    return type(data) if _is_frame(data) else dict


def constructor_named(package: str) -> TableConstructor:
    """The constructor of tables of pandas, polars or pyarrow, which is imported here."""
    try:
        module = import_module(package)
    except ImportError:
        raise MissingPackageError(
            f"{package} must be installed for this kind of table; it is not. Run: pip install "
            f"{package}, or use to_frame(), which needs no package."
        ) from None
    if package == "pandas":
        constructor: TableConstructor = module.DataFrame
        return constructor
    return partial(_strictly_typed, module.table if package == "pyarrow" else module.DataFrame)


def _strictly_typed(constructor: TableConstructor, columns: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - a table
    """Build a table of a library whose column names are text and whose columns have one type."""
    named = {str(name): values for name, values in columns.items()}
    try:
        table = constructor(named)
    except Exception:  # noqa: BLE001 - the errors of these libraries quote data
        table = None
    if table is None or len(named) < len(columns):
        raise MalformedInputError(
            "the items, and the users, must be of one type in Polars and Arrow tables; these are "
            "of several, or of a type that the library cannot store. Convert them to text before "
            "the call, or use to_pandas()."
        )
    return table


def library_of(data: object) -> str:
    """A name for the kind of table: sparse, numpy, arrow, mapping, or the name of its package."""
    if isinstance(data, np.ndarray):
        return "numpy"
    if isinstance(data, Mapping):
        return "mapping"
    if _is_arrow(data):
        return "arrow"
    package = type(data).__module__.partition(".")[0]
    return "sparse" if package == "scipy" else package


def read_columns(table: Table, columns: Mapping[str, str | None]) -> list[Any]:
    """Read the columns that `columns` names, in this order; None for a parameter without a name.

    >>> read_columns({"name": ["ann"], "text": ["tea"]}, {"user": "name", "query": "text"})
    [['ann'], ['tea']]
    """
    available = column_names(table)
    for parameter, name in columns.items():
        if name is None:
            continue
        if name not in available:
            raise MalformedInputError(
                f"{parameter} must name a column of the table; it has no column {name!r}. "
                f"Pass the right name as {parameter}=..."
            )
        if available.count(name) > 1:
            raise MalformedInputError(
                f"{parameter} must name one column of the table; {available.count(name)} are "
                f"named {name!r}. Rename them."
            )
    return [
        None
        if name is None
        else column_values(select_column(table, name), times=parameter == "time")
        for parameter, name in columns.items()
    ]


def select_column(table: Table, name: Any) -> Any:  # noqa: ANN401 - any column
    """The column with this name, in the type of its library."""
    return table.column(name) if _is_arrow(table) else table[name]


def column_values(column: Any, *, times: bool) -> Sequence[Any] | npt.NDArray[Any]:  # noqa: ANN401 - any column
    """The values of one column: a NumPy array of integers or, if `times`, of times; or a list.

    Times with a time zone are converted to UTC.
    """
    if isinstance(column, np.ndarray | list | tuple):
        return column
    kind = str(getattr(column, "type", getattr(column, "dtype", "")))
    if kind.startswith(("timestamp", "date", "Date", "int", "uint", "Int", "UInt")):
        array = _array(column)
        # Integers with missing values become floats: read them as objects, missing ones as None.
        if array.dtype.kind in ("iuM" if times else "iu"):
            return array
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    # The values of a set have no order: they would be combined with the wrong rows.
    if isinstance(column, Iterable) and not isinstance(column, str | bytes | Mapping | AbstractSet):
        return list(column)
    raise MalformedInputError(
        "every column of a table must be a sequence of values; got a value of type "
        f"{type(column).__name__}."
    )


def _array(column: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - any column
    # pandas converts times with a zone to an array of objects unless a unit is given.
    unit = getattr(getattr(column, "dtype", None), "unit", None)
    return np.asarray(column, f"datetime64[{unit}]" if unit else None)


def column_names(table: Table) -> list[Any]:
    """The names of the columns, in order."""
    if _is_arrow(table):
        return list(table.column_names)
    return list(table if isinstance(table, Mapping) else table.columns)


def _is_arrow(data: object) -> bool:
    return hasattr(data, "column_names") and hasattr(type(data), "from_pydict")


def _is_frame(data: object) -> bool:
    # A lazy frame has no length, and its columns are expensive to determine: check them last.
    return hasattr(data, "__len__") and hasattr(data, "__getitem__") and hasattr(data, "columns")
