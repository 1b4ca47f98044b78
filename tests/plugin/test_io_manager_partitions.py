"""IO manager: one file per partition, loaded as one table."""

from pathlib import Path

import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.stored_assets import (
    CANARY,
    DAYS,
    FULL,
    asset_of,
    files_in,
    loaded,
    partitioned,
    run,
    storage_in,
    stored_path,
)

from setanon_core.errors import InvalidParameterError, MalformedInputError, SetanonError
from setanon_dagster.io_manager import DuckDBParquetStorage, _file_name, _partition_name
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet, write_parquet


def test_all_partitions_are_loaded_as_one_table_in_key_order(tmp_path):
    table_asset = partitioned(lambda key: pa.table({"day": [key] * 2, "n": [1, 2]}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, table_asset, partition=key)
    assert files_in(tmp_path) == [
        f"store/table_asset/{name}.parquet" for name in ("%61ll", "10", "9", "a%2Fb")
    ]
    expected = [(key, n) for key in ("10", "9", "a/b", "all") for n in (1, 2)]
    assert loaded(tmp_path, duckdb.DuckDBPyRelation, upstream=table_asset).fetchall() == expected
    frame = loaded(tmp_path, pd.DataFrame, upstream=table_asset)
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert [path.stem for path in loaded(tmp_path, list[Path], upstream=table_asset)] == [
        "10", "9", "a%2Fb", "%61ll",
    ]  # fmt: skip
    with pytest.raises(InvalidParameterError, match=r"has 4 partitions here.*list\[Path\]"):
        loaded(tmp_path, Path, upstream=table_asset)


def test_downstream_partition_loads_the_same_partition(tmp_path):
    seen = {}

    @dg.asset(partitions_def=DAYS)
    def reading(context: dg.AssetExecutionContext, table_asset: pa.Table):
        seen[context.partition_key] = table_asset["day"].to_pylist()

    table_asset = partitioned(lambda key: pa.table({"day": [key]}))
    for key in ("10", "a/b"):
        run(tmp_path, table_asset, reading, partition=key)
    assert seen == {"10": ["10"], "a/b": ["a/b"]}


def test_time_window_mapping_loads_its_days(tmp_path):
    days = dg.DailyPartitionsDefinition("2024-01-01", end_date="2024-01-04")
    window = dg.TimeWindowPartitionMapping(start_offset=-1)
    seen = []

    @dg.asset(partitions_def=days)
    def table_asset(context: dg.AssetExecutionContext):
        return pa.table({"day": [context.partition_key]})

    @dg.asset(partitions_def=days, ins={"table_asset": dg.AssetIn(partition_mapping=window)})
    def reading(table_asset):
        seen.append(table_asset.fetchall())

    for key in ("2024-01-02", "2024-01-03"):
        run(tmp_path, table_asset, partition=key)
    run(tmp_path, table_asset, reading, selection=[reading], partition="2024-01-03")
    assert seen == [[("2024-01-02",), ("2024-01-03",)]]


def test_multi_partition_has_one_file(tmp_path):
    both = dg.MultiPartitionsDefinition(
        {
            "day": dg.DailyPartitionsDefinition("2024-01-01"),
            "region": dg.StaticPartitionsDefinition(["x"]),
        }
    )
    key = dg.MultiPartitionKey({"day": "2024-01-01", "region": "x"})
    run(tmp_path, asset_of(FULL, partitions_def=both), partition=key)
    assert files_in(tmp_path) == ["store/table_asset/2024-01-01%7Cx.parquet"]


def test_partitions_with_different_schemas_are_refused(tmp_path):
    tables = {
        "10": pa.table({"n": [1]}),
        "9": pa.table({"n": [CANARY]}),
        "a/b": pa.table({"m": [1]}),
    }
    table_asset = partitioned(lambda key: tables.get(key, tables["10"]))
    for key in DAYS.get_partition_keys():
        run(tmp_path, table_asset, partition=key)
    with pytest.raises(MalformedInputError, match="2 of 4 differ from the first") as raised:
        loaded(tmp_path, pa.Table, upstream=table_asset)
    assert "asset table_asset" in str(raised.value)
    assert CANARY not in str(raised.value)


def test_missing_partitions_are_named(tmp_path):
    with pytest.raises(
        SetanonError, match=r"asset table_asset must be stored.*Materialize it first"
    ):
        loaded(tmp_path, pa.Table)
    table_asset = partitioned(lambda key: pa.table({"day": [key]}))
    run(tmp_path, table_asset, partition="10")
    with pytest.raises(SetanonError, match=r"no file was found for partition 9, a/b, all\."):
        loaded(tmp_path, pa.Table, upstream=table_asset)


def test_run_over_several_partitions_is_refused(tmp_path):
    table_asset = asset_of(FULL, partitions_def=DAYS)
    with pytest.raises(InvalidParameterError, match="it was started for 2"):
        dg.materialize(
            [table_asset],
            resources={"io_manager": storage_in(tmp_path)},
            tags={
                "dagster/asset_partition_range_start": "10",
                "dagster/asset_partition_range_end": "9",
            },
        )
    assert files_in(tmp_path) == []


def test_corrupt_file_is_refused_without_quoting_it(tmp_path):
    run(tmp_path, asset_of(FULL))
    stored_path(tmp_path).write_text(CANARY)
    with pytest.raises(SetanonError, match="asset table_asset could not be read") as raised:
        loaded(tmp_path, pa.Table)
    assert CANARY not in str(raised.value)


@given(st.sets(st.text(), min_size=2, max_size=2))
def test_different_keys_have_different_file_names(keys):
    one, other = keys
    assert _partition_name(one) != _partition_name(other)
    assert _partition_name(one) != "all"
    assert _file_name(one) != _file_name(other)


@pytest.mark.parametrize(
    "key", ["x" * 300, "é" * 200, "..", "", ".", "a/../b", "%2E", "*", "a\0b", "\ud800"]
)
def test_any_key_is_a_valid_file_name(tmp_path, key):
    name = _partition_name(key)
    assert name != _partition_name(key + "x")
    assert len(name) < 250
    path = tmp_path / f"{name}.parquet"
    assert path.parent.resolve() == tmp_path.resolve()
    assert write_parquet(FULL, path) == 3
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_glob_characters_in_folder_names_are_literal(tmp_path):
    for name in ("a*b", "axb", "[x]", "x", "h=1", "it's"):
        (tmp_path / name).mkdir()
        write_parquet(pa.table({"from": [name]}), tmp_path / name / "t.parquet")
    with connect() as connection:
        for name in ("a*b", "[x]", "h=1", "it's"):
            assert read_parquet(tmp_path / name / "t.parquet", connection).fetchall() == [(name,)]


def test_folder_is_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = DuckDBParquetStorage(folder="here").path(dg.AssetKey(["a", "b.c"]), "1")
    assert path == tmp_path / "here" / "a" / "b%2Ec" / "1.parquet"
