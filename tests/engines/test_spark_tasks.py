"""Tasks of the engine spark without Spark: calls, reports, types, and what must be installed."""

import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.spark import part_sums

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_dagster.engines import spark_session
from setanon_dagster.engines.group_counts import CutGroupError, GroupCounts
from setanon_dagster.engines.spark import SparkEngine, check_reports
from setanon_dagster.engines.spark_files import merge_parts
from setanon_dagster.engines.spark_session import MissingSparkError, require_spark
from setanon_dagster.engines.spark_tasks import GroupTask, WorkerError
from setanon_dagster.engines.spark_types import signed_schema, signed_table, view_as
from setanon_dagster.storage.batches import rebatch

ROWS = pa.schema({"key": pa.string(), "row": pa.int64()})
SUMS = pa.schema({"key": pa.string(), "total": pa.int64()})
SIZES = st.integers(1, 5)


def run(function, keys, batch_rows, chunk_rows, max_group_rows=None):
    """The result of one partition, and its report."""
    table = pa.table([keys, range(len(keys))], schema=ROWS)
    task = GroupTask(function, "key", ROWS, SUMS, chunk_rows, max_group_rows)
    reports = {}
    result = list(task.run(iter(rebatch(table, batch_rows)), reports, 3))
    return pa.Table.from_batches(result, SUMS), reports[3]


@given(
    keys=st.lists(st.sampled_from(["a", "b", "é", "北"]), max_size=20).map(sorted),
    batch_rows=SIZES,
    chunk_rows=SIZES,
    size=st.none() | SIZES,
)
def test_groups_are_complete_for_all_sizes_of_batches_and_calls(keys, batch_rows, chunk_rows, size):
    function = part_sums(size or 1000)
    expected = function(pa.table([keys, range(len(keys))], schema=ROWS)).cast(SUMS)
    result, report = run(function, keys, batch_rows, chunk_rows, size)
    assert result == expected
    assert (report.rows, report.keys) == (len(keys), len(set(keys)))
    assert report.results == len(expected)


def test_errors_of_setanon_are_reported_and_others_have_no_message():
    def fail(_):
        raise MalformedInputError("the rows must be valid.")

    def divide(_):
        raise ZeroDivisionError("canary")

    _, report = run(fail, ["a"], 1, 1)
    with pytest.raises(MalformedInputError, match=r"^the rows must be valid\.$"):
        check_reports({0: GroupCounts(), 3: report}, 1, 0)
    with pytest.raises(WorkerError, match=r"^ZeroDivisionError$"):
        run(divide, ["a"], 1, 1)


def test_partitions_that_share_a_key_or_lack_a_report_are_refused():
    _, ab = run(part_sums(9), ["a", "b"], 9, 9)
    _, bc = run(part_sums(9), ["b", "c"], 9, 9)
    _, c = run(part_sums(9), ["c"], 9, 9)
    assert check_reports({1: c, 0: ab}, 3, 3).keys == 3
    with pytest.raises(CutGroupError, match="cut in two"):
        check_reports({0: ab, 1: bc}, 4, 4)
    with pytest.raises(CutGroupError, match="in key order"):
        check_reports({0: bc, 1: ab}, 4, 4)
    with pytest.raises(CutGroupError, match="there are 3 rows, and 2 were passed"):
        check_reports({0: ab}, 3, 2)
    with pytest.raises(CutGroupError, match="2 rows were returned, and 1 received"):
        check_reports({0: ab}, 2, 1)


@given(st.lists(st.none() | st.lists(st.integers(0, 2**64 - 1), max_size=3), max_size=6), SIZES)
def test_unsigned_integers_keep_their_bits(keys, start):
    schema = pa.schema({"keys": pa.list_(pa.uint64()), "hash": pa.uint64(), "n": pa.int32()})
    hashes = [max(key, default=0) if key else None for key in keys]
    table = pa.table([keys, hashes, range(len(keys))], schema=schema).slice(start)
    signed = signed_table(table)
    assert signed.schema == signed_schema(schema)
    assert all(-(2**63) <= value < 2**63 for value in signed["hash"].drop_null().to_pylist())
    assert view_as(signed, schema) == table


@pytest.mark.parametrize(("version", "found"), [(None, "no Java was found"), (11, "found Java 11")])
def test_missing_java_is_explained(tmp_path, monkeypatch, version, found):
    pytest.importorskip("pyspark", reason="PySpark is not installed: install setanon[spark].")
    monkeypatch.setattr(spark_session, "java_version", lambda: version)
    with pytest.raises(MissingSparkError, match=rf"Java 17 or later .*{found}\. Install a JRE"):
        SparkEngine(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_missing_pyspark_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingSparkError, match=r"PySpark must be installed .* pip install"):
        require_spark()


def test_java_is_found_by_its_home_and_may_be_absent(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert spark_session.java_version() is None
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023-10-17' >&2\n")
    java.chmod(0o755)
    assert spark_session.java_version() == 21


def test_files_of_executors_are_merged_in_order_within_the_memory_limit(tmp_path):
    schema = pa.schema({"thread": pa.int64(), "hash": pa.uint64()})
    whole = pa.table([range(30), range(30)], schema=schema)
    target = tmp_path / "stage.parquet"
    for limit in ("20MB", "1KB"):
        parts = tmp_path / "engine" / limit
        parts.mkdir(parents=True)
        for number in (10, 2, 0):
            start = {0: 0, 2: 10, 10: 20}[number]
            part = signed_table(whole.slice(start, 10))
            parquet.write_table(part, parts / f"part-{number:05}-x.parquet")
        if limit == "1KB":
            with pytest.raises(SetanonError, match="memory"):
                merge_parts(parts, schema, target, limit)
        else:
            assert merge_parts(parts, schema, target, limit) == 30
            assert list(parts.iterdir()) == []
    assert parquet.read_table(target) == whole
