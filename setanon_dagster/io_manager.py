"""The IO manager: every asset, or partition of one, is a private Parquet file of its own.

There is no shared database and no lock: concurrent runs and backfills never meet.
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
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.engine_errors import redact_engine_errors
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import FAST_LEVEL, read_parquet, write_parquet

UNPARTITIONED: Final = "all"
"""The name of the only file of an asset without partitions."""

LONGEST_NAME: Final = 180
"""Bytes of a file name that are taken from a key; file systems allow 255."""

LISTED: Final = 10
"""How many partitions an error names."""

COLUMN_SCHEMA: Final = "dagster/column_schema"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A Parquet file that an asset has written by `write_parquet`; the storage takes it away."""

    path: Path
    rows: int


class DuckDBParquetStorage(dg.ConfigurableIOManager):
    """Stores `<folder>/<asset key>/<partition key, or "all">.parquet` through DuckDB.

    Assets return a DuckDB relation, an Arrow table or reader, a pandas frame, or a file that they
    have `Made` on the same disk. Inputs are lazy relations unless annotated as pyarrow.Table,
    pyarrow.RecordBatchReader, pandas.DataFrame, pathlib.Path or list[pathlib.Path].
    """

    folder: str
    """Where the files are; made absolute, and private where it has to be created."""

    memory_limit: str | None = None
    """DuckDB's, for each connection, such as "2GB"; None leaves it to DuckDB."""

    cores: int | None = None
    """DuckDB's, for each connection; None leaves it to DuckDB."""

    temp_folder: str | None = None
    """Where DuckDB spills what does not fit in memory; None means inside `folder`."""

    def path(self, key: dg.AssetKey, partition: str | None = None) -> Path:
        """The file of an asset, or of a partition of it."""
        name = UNPARTITIONED if partition is None else _partition_name(partition)
        return self._root.joinpath(*map(_file_name, key.path), f"{name}.parquet")

    def connect(self) -> DuckDBPyConnection:
        """A connection of its own, with these settings."""
        return connect(self.memory_limit, self.cores, self.temp_folder or self._root)

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Store a table whole, or leave the file as it was; None stores nothing."""
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
                    name=_name(context.asset_key), connection=connection, level=FAST_LEVEL,
                )  # fmt: skip
            # What the file says, not the relation: an ENUM's type would list its values.
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

    def load_input(self, context: dg.InputContext) -> Any:  # noqa: ANN401 - it depends on the annotation
        """Load what the annotation asks for; several partitions become one table in key order."""
        key = context.asset_key
        annotation = context.dagster_type.typing_type
        # Dagster keeps some subsets as sets of keys, in no order.
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
        """The files of these partitions; an error says which are missing."""
        wanted: Sequence[str | None] = [None] if partitions is None else partitions
        paths = [self.path(key, each) for each in wanted]
        found = [path.is_file() for path in paths]
        if all(found) and paths:
            return paths
        missing = [str(each) for each, there in zip(wanted, found, strict=True) if not there]
        more = f" and {len(missing) - LISTED} more" if len(missing) > LISTED else ""
        which = f" for partition {', '.join(missing[:LISTED])}{more}" if partitions else ""
        raise SetanonError(
            f"{_name(key)} must be stored before it is loaded; no file was found{which}. "
            "Materialize it first."
        )


def table_schema(relation: DuckDBPyRelation) -> dg.TableSchema:
    """Names and DuckDB types of the columns, for Dagster's UI."""
    named = zip(relation.columns, relation.types, strict=True)
    return dg.TableSchema(columns=[dg.TableColumn(name, str(kind)) for name, kind in named])


def _relation(relation: DuckDBPyRelation) -> DuckDBPyRelation:
    return relation


def _reader(relation: DuckDBPyRelation) -> pa.RecordBatchReader:
    return relation.to_arrow_reader()


def _table(relation: DuckDBPyRelation) -> pa.Table:
    return relation.to_arrow_table()


def _frame(relation: DuckDBPyRelation) -> object:
    """A pandas frame whose lists are lists, and whose integers stay whole beside missing ones."""
    import pandas as pd

    table = relation.to_arrow_table()
    frame = table.to_pandas(integer_object_nulls=True)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_nested(column.type):
            frame[name] = pd.Series(column.to_pylist(), dtype=object, index=frame.index)
    return frame


def _loader(annotation: object, key: dg.AssetKey) -> Callable[[DuckDBPyRelation], object]:
    """What turns a relation into what was asked for."""
    if annotation in (Any, None, DuckDBPyRelation):
        return _relation
    if annotation is pa.Table:
        return _table
    if annotation is pa.RecordBatchReader:
        return _reader
    # By name: whoever does not use pandas need not wait for its import.
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
    """The partition to be written, if the asset has partitions."""
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
    """Column types that the asset's definition declares."""
    declared = (metadata or {}).get(COLUMN_SCHEMA)
    schema = getattr(declared, "schema", declared)  # Dagster may have wrapped it
    if not isinstance(schema, dg.TableSchema):
        return {}
    return {column.name: column.type for column in schema.columns}


def _name(key: dg.AssetKey) -> str:
    return f"asset {key.to_user_string()}"


def _partition_name(partition: str) -> str:
    """A file name for a partition, which is never that of an asset without partitions."""
    name = _file_name(partition)
    return f"%{ord(name[0]):02X}{name[1:]}" if name == UNPARTITIONED else name


def _file_name(part: str) -> str:
    """A file name for any text, and another one for any other text.

    >>> _file_name("2024-05-01|north/east"), _file_name(".."), _file_name("")
    ('2024-05-01%7Cnorth%2Feast', '%2E%2E', '%-')
    """
    name = quote(part, safe="", errors="surrogatepass").replace(".", "%2E")
    if 0 < len(name) <= LONGEST_NAME:
        return name
    # "%-" starts no quoted character, so that a shortened name is never a whole one.
    digest = blake2b(name.encode(), digest_size=16).hexdigest() if name else ""
    return f"{name[:LONGEST_NAME]}%-{digest}"
