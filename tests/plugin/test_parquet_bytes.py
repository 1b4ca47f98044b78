"""Parquet files: bytes do not depend on cores; concurrent writes are atomic."""

import gc
import os
import stat
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.stored_assets import DAYS, digest, files_in, loaded, partitioned, run, storage_in

from setanon_core.errors import InvalidParameterError
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.parquet import read_parquet, write_parquet

BIG = "SELECT i, 'w' || hash(i) % 977 AS w, ['a' || i % 7, 'b'] AS l FROM range(250000) t(i)"


@pytest.mark.parametrize("order_by", [None, "w, i"])
@pytest.mark.parametrize("kind", ["relation", "table", "reader"])
def test_bytes_do_not_depend_on_the_number_of_cores(tmp_path, order_by, kind):
    digests = set()
    for cores in (1, 4):
        with connect(cores=cores) as connection:
            relation = connection.sql(BIG)
            data = {
                "relation": lambda relation=relation: relation,
                "table": relation.to_arrow_table,
                "reader": relation.to_arrow_table().to_reader,
            }[kind]()
            path = tmp_path / f"{cores}.parquet"
            assert write_parquet(data, path, order_by=order_by, connection=connection) == 250_000
            digests.add(digest(path))
    assert len(digests) == 1


def test_settings_are_passed_to_duckdb_and_invalid_ones_are_named(tmp_path):
    storage = storage_in(tmp_path, memory_limit="300MiB", cores=1)
    names = ("threads", "memory_limit", "temp_directory")
    settings = ", ".join(f"current_setting('{name}')" for name in names)
    with storage.connect() as connection:
        ((cores, memory, folder),) = connection.sql(f"SELECT {settings}").fetchall()
    assert (cores, memory) == (1, "300.0 MiB")
    assert folder.startswith(str(tmp_path / "store"))
    with pytest.raises(InvalidParameterError, match=r"memory_limit must be .*got 'much'"):
        connect(memory_limit="much")
    with pytest.raises(InvalidParameterError, match=r"cores must be .*got 0"):
        connect(cores=0)


def test_connection_does_not_read_python_variables():
    secret = pa.table({"a": [1]})
    with connect() as connection, pytest.raises(duckdb.CatalogException):
        connection.sql("SELECT * FROM secret").fetchall()
    assert secret.num_rows == 1


def test_rows_that_exceed_memory_are_spilled_to_a_private_folder(tmp_path):
    sql = "SELECT i, hash(i)::VARCHAR || i AS s FROM range(1500000) t(i)"
    spill = tmp_path / "spill"
    with connect("60MB", 1, spill) as connection:
        connection.sql(sql).order("s").select("count(*)").fetchall()
        connection.execute(f"CREATE TABLE sorted AS {sql} ORDER BY s")
        assert any(path.is_file() for path in spill.rglob("*"))
        assert [stat.S_IMODE(path.stat().st_mode) for path in spill.iterdir()] == [0o700]
    assert list(spill.iterdir()) == []
    with connect("60MB", 1) as connection, pytest.raises(duckdb.OutOfMemoryException):
        connection.execute(f"CREATE TABLE sorted AS {sql} ORDER BY s")


WRITER = """
import sys
import dagster as dg, pyarrow as pa
from setanon_dagster.io_manager import DuckDBParquetStorage

folder, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
storage = DuckDBParquetStorage(folder=folder, cores=1)
parts = dg.StaticPartitionsDefinition(["same", "a", "b", "c"])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(times):
    rows = 5_000 + turn
    table = pa.table({"writer": [name] * rows, "words": [[name, str(turn)]] * rows})
    for partition in ("same", name):
        context = dg.build_output_context(
            asset_key=dg.AssetKey("table_asset"),
            partition_key=partition,
            asset_partitions_def=parts,
        )
        storage.handle_output(context, table)
"""


@pytest.mark.slow
def test_concurrent_writers_never_fail_and_readers_see_complete_files(tmp_path):
    store = tmp_path / "store"
    writers = [
        subprocess.Popen(  # noqa: S603 - the script above
            [sys.executable, "-c", WRITER, store, name, "4"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    path, reads = store / "table_asset" / "same.parquet", 0
    incomplete = 0
    while any(writer.poll() is None for writer in writers):
        if not path.exists():
            continue
        with connect(cores=1) as connection:
            relation = read_parquet(path, connection)
            counts = relation.aggregate(
                "count(*), count(DISTINCT writer), count(DISTINCT words), min(words[2]::INT)"
            ).fetchall()[0]
        incomplete += counts != (5_000 + counts[3], 1, 1, counts[3])
        reads += 1
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    assert reads > 0
    assert incomplete == 0
    assert files_in(store) == [f"table_asset/{name}.parquet" for name in ("a", "b", "same")]
    assert {parquet.read_table(store / "table_asset" / f"{n}.parquet").num_rows for n in "ab"} == {
        5_003
    }


def count_open_files():
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - only their number


def test_relation_reads_its_files_after_they_are_replaced(tmp_path):
    table_asset = partitioned(lambda key: pa.table({"day": [key] * 100_000}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, table_asset, partition=key)
    before = count_open_files()
    relation = loaded(tmp_path, duckdb.DuckDBPyRelation, upstream=table_asset)
    replacement = partitioned(lambda _: pa.table({"day": ["new"], "more": [1]}))
    for key in DAYS.get_partition_keys():
        run(tmp_path, replacement, partition=key)
    for _ in range(2):
        assert relation.aggregate("count(*), count(DISTINCT day)").fetchall() == [(400_000, 4)]
    reader = relation.to_arrow_reader(1000)
    del relation
    gc.collect()
    assert sum(batch.num_rows for batch in reader) == 400_000
    del reader
    gc.collect()
    assert count_open_files() <= before
