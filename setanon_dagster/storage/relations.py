"""Convert Arrow and pandas tables to DuckDB relations with column types that Parquet can store."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from setanon_core.errors import MalformedInputError
from setanon_dagster.storage.batches import rebatch

_SET_TYPES: Final = frozenset({set, frozenset})


def as_relation(
    data: object,
    name: str,
    connection: DuckDBPyConnection,
    batch_rows: int,
    errors: list[BaseException],
) -> DuckDBPyRelation:
    """Convert a table to a relation; `name` is the name of the table in error messages.

    Arrow data is read in batches of `batch_rows` rows. Exceptions raised while it is read are
    appended to `errors`.
    """
    if isinstance(data, DuckDBPyRelation):
        return data
    pandas = sys.modules.get("pandas")  # not imported here: a DataFrame implies that it is loaded
    if pandas is not None and isinstance(data, pandas.DataFrame):
        data = _arrow_of_frame(data, name)
    if not isinstance(data, pa.Table | pa.RecordBatchReader):
        raise MalformedInputError(
            f"{name} must be a DuckDB relation, a pyarrow Table or RecordBatchReader, or a pandas "
            f"DataFrame; got a value of type {type(data).__name__}."
        )
    # DuckDB ends a Parquet row group where a batch ends: fixed sizes make the bytes reproducible.
    relation = connection.from_arrow(rebatch(data, batch_rows, errors))
    if relation.columns != data.schema.names:
        raise MalformedInputError(
            f"column names of {name} must be unique when case is ignored. Rename the columns."
        )
    return relation


def _arrow_of_frame(frame: Any, name: str) -> pa.Table:  # noqa: ANN401 - pandas is not imported
    """Convert a DataFrame to Arrow, where lists stay lists."""
    if any(level is not None for level in frame.index.names):
        raise MalformedInputError(
            f"the index of {name} must not have a name, because the index is not stored. "
            "Call reset_index() first."
        )
    for label, column in frame.items():
        if column.dtype == object and not _SET_TYPES.isdisjoint(column.map(type)):
            raise MalformedInputError(
                f"column {label!r} of {name} must contain sorted lists instead of sets: the order "
                "of a set changes from run to run."
            )
    return pa.Table.from_pandas(frame, preserve_index=False)


_NESTED: Final = frozenset({"list", "array", "struct", "map", "union"})


def with_declared_types(
    relation: DuckDBPyRelation, types: Mapping[str, str], name: str, connection: DuckDBPyConnection
) -> DuckDBPyRelation:
    """Cast columns of unknown type to their declared type; refuse types that Parquet lacks.

    `types` maps column names to DuckDB types; `name` is the name of the table in error messages.
    """
    columns, casts = [], 0
    for label, actual in zip(relation.columns, relation.types, strict=True):
        column = duckdb.ColumnExpression(label)
        type_ids = set(_type_ids(actual))
        if "null" in type_ids:
            declared = connection.type(types[label]) if label in types else None
            # Only NULL may become any type: DuckDB would also cast a list to text.
            if declared is None or actual.id not in ("null", declared.id):
                raise MalformedInputError(
                    f"column {label!r} of {name} must have a type; all its values are missing or "
                    "empty. Set the type by a CAST or an Arrow schema, or declare it in the "
                    "metadata dagster/column_schema, e.g. VARCHAR[]."
                )
            column, casts = column.cast(declared).alias(label), casts + 1
        elif type_ids & {"hugeint", "uhugeint"}:
            raise MalformedInputError(
                f"column {label!r} of {name} must have a type that Parquet supports; HUGEINT would "
                "become DOUBLE. Cast it to BIGINT, e.g. sum(...)::BIGINT."
            )
        columns.append(column)
    return relation.select(*columns) if casts else relation


def _type_ids(column_type: DuckDBPyType) -> Iterator[str]:
    """The names of a type and of the types nested in it, without the values of an ENUM."""
    yield column_type.id
    children: Iterable[tuple[str, Any]] = column_type.children if column_type.id in _NESTED else ()
    for _, child in children:
        if isinstance(child, DuckDBPyType):  # the size of an ARRAY is an integer
            yield from _type_ids(child)
