"""IO manager: one private Parquet file per asset and partition.

There is no shared database and no lock, so concurrent runs and backfills are independent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, get_args, get_origin
from urllib.parse import quote

import dagster as dg
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_dagster.metadata_keys import BYTES
from setanon_dagster.redaction import explain_resource_errors
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet, write_parquet

UNPARTITIONED: Final = "all"
"""File name of an asset without partitions."""

MAX_NAME_BYTES: Final = 180
"""Bytes of a file name that are taken from a key; file systems allow 255."""

MAX_LISTED: Final = 10
"""Maximum number of partitions that an error names."""

COLUMN_SCHEMA: Final = "dagster/column_schema"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A Parquet file written by `write_parquet`; the IO manager moves it to its final path."""

    path: Path
    rows: int


class DuckDBParquetStorage(dg.ConfigurableIOManager):
    """Stores `<folder>/<asset key>/<partition key, or "all">.parquet` through DuckDB.

    Assets return a DuckDB relation, an Arrow table or reader, a pandas frame, or a `StoredFile` on
    the same file system. Inputs are lazy relations unless annotated as pyarrow.Table,
    pyarrow.RecordBatchReader, pandas.DataFrame, pathlib.Path or list[pathlib.Path].
    """

    folder: str
    """Folder of the files; created with mode 0700."""

    memory_limit: str | None = None
    """Memory limit of each DuckDB connection, such as "2GB"; None: DuckDB's default."""

    cores: int | None = None
    """Cores of each DuckDB connection; None: DuckDB's default."""

    temp_folder: str | None = None
    """Folder into which DuckDB spills; None: a folder inside `folder`."""

    def path(self, key: dg.AssetKey, partition: str | None = None) -> Path:
        """Path of the file of an asset or of one of its partitions."""
        name = UNPARTITIONED if partition is None else _partition_name(partition)
        return self._root.joinpath(*map(_file_name, key.path), f"{name}.parquet")

    def connect(self) -> DuckDBPyConnection:
        """A new DuckDB connection with these settings."""
        return connect(self.memory_limit, self.cores, self.temp_folder or self._root)

    @explain_resource_errors()
    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Store a table atomically; None stores nothing."""
        if obj is None:
            return
        path = self.path(context.asset_key, _one_partition(context))
        private_folder(path.parent)
        connection = self.connect()
        try:
            if isinstance(obj, StoredFile):
                obj.path.replace(path)
                fsync_folder(path.parent)
                rows = obj.rows
            else:
                rows = write_parquet(
                    obj,
                    path,
                    types=_declared_types(context.definition_metadata),
                    name=_name(context.asset_key),
                    connection=connection,
                )
            # Schema of the file, not of the relation: the type of an ENUM lists its values.
            stored = read_parquet(path, connection, _name(context.asset_key))
            schema = table_schema(stored)
        finally:
            connection.close()
        context.add_output_metadata(
            {
                "dagster/row_count": rows,
                COLUMN_SCHEMA: schema,
                "dagster/uri": str(path),
                BYTES: path.stat().st_size,
            }
        )

    def load_input(self, context: dg.InputContext) -> Any:  # noqa: ANN401 - depends on the annotation
        """Load the annotated type; several partitions become one table in key order."""
        key = context.asset_key
        annotation = context.dagster_type.typing_type
        # Dagster keeps some partition subsets as unordered sets.
        partitions = sorted(context.asset_partition_keys) if context.has_asset_partitions else None
        paths = self._existing(key, partitions)
        if get_origin(annotation) is list and get_args(annotation) == (Path,):
            return paths
        if annotation is Path:
            return _only_path(paths, key)
        load = _loader(annotation, key)
        connection = self.connect()
        try:
            with redact_engine_errors(f"{_name(key)} could not be read"):
                return load(read_parquet(paths, connection, _name(key)))
        except BaseException:
            connection.close()
            raise

    @property
    def _root(self) -> Path:
        return Path(self.folder).expanduser().absolute()

    def _existing(self, key: dg.AssetKey, partitions: Sequence[str] | None) -> list[Path]:
        """Paths of the files of these partitions; raises an error if one is missing."""
        names: Sequence[str | None] = [None] if partitions is None else partitions
        paths = [self.path(key, name) for name in names]
        exists = [path.is_file() for path in paths]
        if all(exists) and paths:
            return paths
        missing = [str(name) for name, stored in zip(names, exists, strict=True) if not stored]
        more = f" and {len(missing) - MAX_LISTED} more" if len(missing) > MAX_LISTED else ""
        listed = f" for partition {', '.join(missing[:MAX_LISTED])}{more}" if partitions else ""
        raise SetanonError(
            f"{_name(key)} must be stored before it is loaded; no file was found{listed}. "
            "Materialize it first."
        )


def table_schema(relation: DuckDBPyRelation) -> dg.TableSchema:
    """Names and DuckDB types of the columns, for the Dagster UI."""
    named = zip(relation.columns, relation.types, strict=True)
    return dg.TableSchema(columns=[dg.TableColumn(name, str(kind)) for name, kind in named])


def _relation(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    return relation


def _reader(relation: DuckDBPyRelation) -> pa.RecordBatchReader:
    return relation.to_arrow_reader()


def _table(relation: DuckDBPyRelation) -> pa.Table:
    return relation.to_arrow_table()


def _frame(relation: DuckDBPyRelation) -> object:
    """A pandas frame with Python lists in list columns, and integers even in nullable columns."""
    import pandas as pd

    table = relation.to_arrow_table()
    frame = table.to_pandas(integer_object_nulls=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type):
            frame[name] = pd.Series(column.to_pylist(), dtype=object, index=frame.index)
    return frame


def _loader(annotation: object, key: dg.AssetKey) -> Callable[[DuckDBPyRelation], object]:
    """The function that converts a relation to the annotated type."""
    if annotation in (Any, None, DuckDBPyRelation):
        return _relation
    if annotation is pa.Table:
        return _table
    if annotation is pa.RecordBatchReader:
        return _reader
    # By module name: pandas is not imported unless it is used.
    if isinstance(annotation, type) and annotation.__module__.partition(".")[0] == "pandas":
        return _frame
    raise InvalidParameterError(
        f"an input from {_name(key)} must be annotated as DuckDBPyRelation, pyarrow.Table, "
        "pyarrow.RecordBatchReader, pandas.DataFrame, pathlib.Path or list[pathlib.Path]; got "
        f"{getattr(annotation, '__name__', annotation)}."
    )


def _only_path(paths: list[Path], key: dg.AssetKey) -> Path:
    if len(paths) > 1:
        raise InvalidParameterError(
            f"an input annotated as Path must be one file; {_name(key)} has {len(paths)} "
            "partitions here. Annotate it as list[Path]."
        )
    return paths[0]


def _one_partition(context: dg.OutputContext) -> str | None:
    """The partition to write; None if the asset has no partitions."""
    if not context.has_asset_partitions:
        return None
    keys = context.asset_partition_keys
    if len(keys) != 1:
        raise InvalidParameterError(
            f"a run must write one partition of {_name(context.asset_key)}; it was started for "
            f"{len(keys)}. Use a backfill policy of one partition per run."
        )
    return keys[0]


def _declared_types(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Column types declared in the metadata of the asset."""
    declared = (metadata or {}).get(COLUMN_SCHEMA)
    schema = getattr(declared, "schema", declared)  # Dagster may wrap it
    if not isinstance(schema, dg.TableSchema):
        return {}
    return {column.name: column.type for column in schema.columns}


def _name(key: dg.AssetKey) -> str:
    return f"asset {key.to_user_string()}"


def _partition_name(partition: str) -> str:
    """File name of a partition; never equal to `UNPARTITIONED`."""
    name = _file_name(partition)
    return f"%{ord(name[0]):02X}{name[1:]}" if name == UNPARTITIONED else name


def _file_name(part: str) -> str:
    """An injective mapping of texts to file names.

    >>> _file_name("2024-05-01|north/east"), _file_name(".."), _file_name("")
    ('2024-05-01%7Cnorth%2Feast', '%2E%2E', '%-')
    """
    name = quote(part, safe="", errors="surrogatepass").replace(".", "%2E")
    if 0 < len(name) <= MAX_NAME_BYTES:
        return name
    # No quoted character starts with "%-", so a shortened name never equals a complete one.
    digest = blake2b(name.encode(), digest_size=16).hexdigest() if name else ""
    return f"{name[:MAX_NAME_BYTES]}%-{digest}"
