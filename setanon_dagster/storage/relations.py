"""Convert Arrow and pandas tables to DuckDB relations."""

import sys
from typing import Any, Final

import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

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
