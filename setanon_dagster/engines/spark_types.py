"""Arrow types that Spark does not have: unsigned 64-bit integers are stored as signed ones.

Spark reads unsigned integers of a Parquet file as decimals; these are converted, too. The metadata
of a Spark column marks its values as unsigned, so that functions are given the type of the file.
"""

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

UNSIGNED: Final = "setanon_unsigned"
"""Key in the metadata of a Spark column whose 64-bit integers are unsigned."""

_TO_SIGNED: Final = {
    pa.uint64(): pa.int64(),
    pa.list_(pa.uint64()): pa.list_(pa.int64()),
}
_TO_UNSIGNED: Final = {signed: unsigned for unsigned, signed in _TO_SIGNED.items()}


def signed_table(table: pa.Table) -> pa.Table:
    """The table with unsigned integers as signed ones of the same bits."""
    return view_as(table, signed_schema(table.schema))


def signed_schema(schema: pa.Schema) -> pa.Schema:
    """The schema with signed integers in place of unsigned ones."""
    return pa.schema(
        [(each.name, _TO_SIGNED.get(_plain(each.type), _plain(each.type))) for each in schema]
    )


def view_as(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with this schema: signed and unsigned integers keep their bits.

    >>> table = pa.table({"keys": pa.array([[2**64 - 1], []], pa.list_(pa.uint64()))})
    >>> signed_table(table)["keys"].to_pylist()
    [[-1], []]
    >>> view_as(signed_table(table), table.schema) == table
    True
    """
    columns = []
    for column, wanted in zip(table.columns, schema.types, strict=True):
        plain = column.cast(_plain(column.type))
        if wanted in (_TO_SIGNED.get(plain.type), _TO_UNSIGNED.get(plain.type)):
            chunks = [chunk.view(wanted) for chunk in plain.chunks]
            columns.append(pa.chunked_array(chunks, wanted))
        else:
            columns.append(plain.cast(wanted))
    return pa.table(columns, schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type with Arrow's usual name for the values of a list; Spark and Parquet have another."""
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind


def spark_schema(schema: pa.Schema) -> "StructType":
    """The Spark type of rows with this schema; unsigned columns are marked in their metadata."""
    from pyspark.sql.pandas.types import from_arrow_schema

    rows = from_arrow_schema(signed_schema(schema), prefer_timestamp_ntz=True)
    for field, declared in zip(rows.fields, schema.types, strict=True):
        if declared in _TO_SIGNED:
            field.metadata = {UNSIGNED: True}
    return rows


def arrow_schema(rows: "StructType") -> pa.Schema:
    """The Arrow schema of a Spark relation, with the unsigned types that its metadata states."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(rows, timezone="UTC")
    types = [
        _TO_UNSIGNED[_plain(kind)] if field.metadata.get(UNSIGNED) else _plain(kind)
        for field, kind in zip(rows.fields, schema.types, strict=True)
    ]
    return pa.schema(list(zip(schema.names, types, strict=True)))


def decimals_as_integers(frame: "DataFrame") -> "DataFrame":
    """Convert the decimals by which Spark reads unsigned integers to marked signed ones."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import ArrayType, DecimalType

    decimal = DecimalType(20, 0)
    columns: list[Any] = []
    for field in frame.schema.fields:
        column = f.col(f"`{field.name}`")
        if field.dataType == decimal:
            columns.append(_signed(column).alias(field.name, metadata={UNSIGNED: True}))
        elif isinstance(field.dataType, ArrayType) and field.dataType.elementType == decimal:
            signed = f.transform(column, _signed)
            columns.append(signed.alias(field.name, metadata={UNSIGNED: True}))
        else:
            columns.append(column)
    return frame.select(*columns)


def _signed(value: "Column") -> "Column":
    """The signed 64-bit integer with the bits of an unsigned one."""
    from pyspark.sql import functions as f

    too_large = value > f.lit(2**63 - 1)
    wrapped = value - f.lit(str(2**64)).cast("decimal(20,0)")
    return f.when(too_large, wrapped).otherwise(value).cast("bigint")
