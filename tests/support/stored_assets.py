"""Store and load tables through the IO manager in Dagster runs."""

import hashlib
from datetime import datetime

import dagster as dg
import pyarrow as pa

from setanon_dagster.io_manager import DuckDBParquetStorage
from setanon_dagster.storage.connection import connect

CANARY = "zyzzogeton"

FULL = pa.table(
    {
        "user": pa.array(["ann", "bob", None]),
        "time": pa.array(
            [
                datetime.fromisoformat("2024-05-01T12:00"),
                None,
                datetime.fromisoformat("1999-01-01"),
            ],
            pa.timestamp("us"),
        ),
        "words": pa.array([["pine", "straw"], [], None], pa.list_(pa.string())),
        "lengths": pa.array([[2], [], [1, 1]], pa.list_(pa.int32())),
        "keys": pa.array([[2**64 - 1, 0], [], [7]], pa.list_(pa.uint64())),
        "line": pa.array([3, 2**53 + 1, None], pa.int64()),
    }
)
TYPES = ["VARCHAR", "TIMESTAMP", "VARCHAR[]", "INTEGER[]", "UBIGINT[]", "BIGINT"]

DAYS = dg.StaticPartitionsDefinition(["10", "9", "all", "a/b"])


def storage_in(folder, **settings):
    return DuckDBParquetStorage(folder=str(folder / "store"), **settings)


def run(folder, *assets, partition=None, selection=None, instance=None, **settings):
    return dg.materialize(
        list(assets),
        resources={"io_manager": storage_in(folder, **settings)},
        partition_key=partition,
        selection=selection,
        instance=instance or dg.DagsterInstance.ephemeral(),
        raise_on_error=True,
    )


def asset_of(data, **arguments):
    @dg.asset(name="table_asset", **arguments)
    def table_asset():
        return data() if callable(data) else data

    return table_asset


def relation_of(sql):
    return connect().sql(sql)


def metadata(result):
    return result.asset_materializations_for_node("table_asset")[0].metadata


def stored_path(folder, name="all"):
    return folder / "store" / "table_asset" / f"{name}.parquet"


def files_in(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def loaded(folder, annotation, *, upstream=None):
    seen = []

    @dg.asset
    def reading(table_asset: annotation):
        seen.append(table_asset)

    run(folder, upstream or asset_of(FULL), reading, selection=[reading])
    return seen.pop()  # Dagster keeps the asset, and with it the list, after the run


def partitioned(value_of):
    @dg.asset(name="table_asset", partitions_def=DAYS)
    def table_asset(context: dg.AssetExecutionContext):
        return value_of(context.partition_key)

    return table_asset
