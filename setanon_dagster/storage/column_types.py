"""What may be stored: relations, Arrow and pandas, with the types that Parquet keeps."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from setanon_core.errors import MalformedInputError
from setanon_dagster.storage.batches import rebatch

_SETS: Final = frozenset({set, frozenset})
_NESTED: Final = frozenset({"list", "array", "struct", "map", "union"})


def as_relation(
    data: object,
    name: str,
    engine: DuckDBPyConnection,
    rows: int,
    raised: list[BaseException],
) -> DuckDBPyRelation:
    """Take what can be stored; name the type of anything else.

    Arrow comes in batches of so many rows; `raised` is told what making them raises.
    """
    if isinstance(data, DuckDBPyRelation):
        return data
    pandas = sys.modules.get("pandas")  # whoever holds a frame has imported it
    if pandas is not None and isinstance(data, pandas.DataFrame):
        data = _arrow(data, name)
    if not isinstance(data, pa.Table | pa.RecordBatchReader):
        raise MalformedInputError(
            f"{name} must be a DuckDB relation, a pyarrow Table or RecordBatchReader, or a pandas "
            f"DataFrame; got a value of type {type(data).__name__}."
        )
    # DuckDB ends a group of rows where a batch ends: in ours, whatever sizes they came in.
    relation = engine.from_arrow(rebatch(data, rows, raised))
    if relation.columns != data.schema.names:
        raise MalformedInputError(
            f"the columns of {name} must have names that differ in more than upper and lower case."
        )
    return relation


def _arrow(frame: Any, name: str) -> pa.Table:  # noqa: ANN401 - pandas is not imported here
    """Turn a frame into Arrow, which keeps lists as lists."""
    if any(level is not None for level in frame.index.names):
        raise MalformedInputError(
            f"the index of {name} must not have a name: it is not stored. Call reset_index() first."
        )
    for label, column in frame.items():
        if column.dtype == object and not _SETS.isdisjoint(column.map(type)):
            raise MalformedInputError(
                f"column {label!r} of {name} must have sorted lists instead of sets: the order of "
                "a set changes from run to run."
            )
    return pa.Table.from_pandas(frame, preserve_index=False)


def with_declared_types(
    relation: DuckDBPyRelation, types: Mapping[str, str], name: str, engine: DuckDBPyConnection
) -> DuckDBPyRelation:
    """Give columns of unknown type the declared one; refuse what Parquet would not keep."""
    columns, casts = [], 0
    for label, seen in zip(relation.columns, relation.types, strict=True):
        column = duckdb.ColumnExpression(label)
        inside = set(_ids(seen))
        if "null" in inside:
            declared = engine.type(types[label]) if label in types else None
            # A list that became a text would still be a table; it must stay a list.
            if declared is None or seen.id not in ("null", declared.id):
                raise MalformedInputError(
                    f"column {label!r} of {name} must have a type; all its values are missing or "
                    "empty. Give it one by a CAST or an Arrow schema, or declare it in the "
                    "metadata dagster/column_schema, e.g. VARCHAR[]."
                )
            column, casts = column.cast(declared).alias(label), casts + 1
        elif inside & {"hugeint", "uhugeint"}:
            raise MalformedInputError(
                f"column {label!r} of {name} must have a type that Parquet keeps; HUGEINT would "
                "become DOUBLE. Cast it to BIGINT, e.g. sum(...)::BIGINT."
            )
        columns.append(column)
    return relation.select(*columns) if casts else relation


def _ids(kind: DuckDBPyType) -> Iterator[str]:
    """The names of a type and of the types inside it, without what an ENUM lists."""
    yield kind.id
    children: Iterable[tuple[str, Any]] = kind.children if kind.id in _NESTED else ()
    for _, child in children:
        if isinstance(child, DuckDBPyType):  # the size of an ARRAY is a number
            yield from _ids(child)
