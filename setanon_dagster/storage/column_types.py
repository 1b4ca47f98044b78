"""Column types that a Parquet file can store without loss."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import duckdb
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from duckdb.sqltypes import DuckDBPyType

from setanon_core.errors import MalformedInputError

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
