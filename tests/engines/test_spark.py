"""The engine spark writes the bytes of the embedded engine; skipped with a warning without Java."""

import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from support.processes import SECONDS, command_of, descendants_of, wait_until
from support.release_runs import ROWS as LOG_ROWS
from support.release_runs import latest_release, materialize, release_config
from support.spark import (
    EXPECTED_WARNINGS,
    QUICK,
    anonymized,
    embedded_files,
    part_sums,
    skip_without_spark,
    stage_files,
    write_raw,
)

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_core.partition import plan
from setanon_dagster.engines.choose import open_configured
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.group_counts import CutGroupError
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.engines.spark_executor import SparkTasks, use_spark_tasks
from setanon_dagster.engines.spark_session import MissingSparkError
from setanon_dagster.stages import place_clusters

pytestmark = [pytest.mark.slow, *EXPECTED_WARNINGS]

ROWS = pa.schema({"key": pa.string(), "row": pa.int64()})
SUMS = pa.schema({"key": pa.string(), "total": pa.int64()})
KEYS = ["b", "Z", "é", "\uffff", "😀", "a", "ab", "", "zz"]
TABLE = pa.table(
    [[key for place, key in enumerate(KEYS, 1) for _ in range(place)], range(45)], schema=ROWS
)

GOOD_ROWS = LOG_ROWS[:-2]
"""Without the rows that are rejected: the command refuses a source with many of them."""


class CuttingEngine(SparkEngine):
    """Cuts groups: rows are dealt to the partitions one by one."""

    def _arrange(self, frame, key, order, partitions):
        return frame.repartition(partitions).sortWithinPartitions(key, order)


def failing(error):
    def fail(_):
        raise error

    return fail


def check_order_and_long_groups(engine, folder):
    with EmbeddedEngine(folder, chunk_rows=2) as embedded:
        rows = embedded.sql("FROM rows", rows=TABLE)
        options = {"function": part_sums(3), "schema": SUMS, "max_group_rows": 3}
        expected = embedded.group_map(rows, "key", "row DESC", **options).read_all()
    rows = engine.sql('SELECT "key", "row" FROM rows', rows=TABLE)
    result = engine.group_map(rows, "key", "row DESC", **options)
    assert engine.collect(result, 100) == expected
    with pytest.raises(SetanonError, match="at most 3 rows"):
        engine.collect(result, 3)
    nothing = engine.sql('SELECT * FROM rows WHERE "row" < 0', rows=rows)
    assert len(engine.collect(engine.group_map(nothing, "key", "row", part_sums(3), SUMS), 1)) == 0


def check_errors(engine):
    rows = engine.sql("SELECT * FROM rows", rows=TABLE)
    own = failing(MalformedInputError("the rows must be valid."))
    with pytest.raises(MalformedInputError, match=r"^the rows must be valid\.$"):
        engine.group_map(rows, "key", "row", own, SUMS)
    with pytest.raises(Exception, match="WorkerError: KeyError") as raised:
        engine.group_map(rows, "key", "row", failing(KeyError("canary")), SUMS)
    assert "canary" not in str(raised.value)


def check_stored_unsigned_integers(engine, folder, expected):
    """`clusters` has unsigned 64-bit integers, which Spark does not have."""
    stored = engine.read(str(folder / "clusters.parquet"))
    engine.write(engine.sql("SELECT * FROM stored", stored=stored), str(folder / "copy.parquet"))
    assert (folder / "copy.parquet").read_bytes() == expected
    assert engine.write(stored, f"{folder}/copies/") == len(engine.collect(stored, 1000))
    assert (folder / "copies" / "_SUCCESS").exists()


def check_tasks(session):
    with SparkTasks(session) as tasks:
        assert [tasks.submit(divmod, 7, n).result() for n in (2, 3)] == [(3, 1), (2, 1)]
        own = tasks.submit(failing(MalformedInputError("the rows must be valid.")), 0)
        with pytest.raises(MalformedInputError, match=r"^the rows must be valid\.$"):
            own.result()
        other = tasks.submit(failing(KeyError("canary")), 0)
        with pytest.raises(Exception, match="WorkerError: KeyError") as raised:
            other.result()
    assert "canary" not in str(raised.value)


def check_places(session, folder):
    expected = anonymized(folder)
    assert expected[-1]["round"].to_pylist().count("group_places") == 1
    with use_spark_tasks(session):
        assert anonymized(folder) == expected


def test_spark_writes_the_files_of_the_embedded_engine(tmp_path, subtests, monkeypatch):
    """One test with subtests: starting Spark takes longer than each of them."""
    skip_without_spark()
    expected = embedded_files(tmp_path)
    spill = tmp_path / "spill"
    raw = {files: str(write_raw(tmp_path / f"raw_{files}", files)) for files in (1, 2, 7)}
    with SparkEngine(spill, master="local[2]", settings=QUICK) as started:
        for files, path in raw.items():
            with (
                subtests.test("files", cores=2, files=files),
                SparkEngine(
                    spill, session=started.session, partitions=files, chunk_rows=100
                ) as engine,
            ):
                assert stage_files(engine, path, tmp_path) == expected
        with SparkEngine(spill, session=started.session, partitions=3, chunk_rows=2) as engine:
            with subtests.test("order and long groups"):
                check_order_and_long_groups(engine, spill)
            with subtests.test("errors"):
                check_errors(engine)
            with subtests.test("unsigned integers"):
                check_stored_unsigned_integers(engine, tmp_path, expected["clusters"])
        with (
            subtests.test("cut groups"),
            CuttingEngine(spill, session=started.session, partitions=3) as engine,
        ):
            rows = engine.sql("SELECT * FROM rows", rows=TABLE)
            with pytest.raises(CutGroupError, match="must be passed to the function"):
                engine.group_map(rows, "key", "row", part_sums(3), SUMS)
        with subtests.test("tasks"):
            check_tasks(started.session)
        with subtests.test("places"), monkeypatch.context() as patch:
            patch.setattr(plan, "PLACE", 40)
            patch.setattr(place_clusters, "PART_THREADS", 90)
            patch.setattr(place_clusters, "WRITTEN_THREADS", 45)
            check_places(started.session, tmp_path)
        with subtests.test("one context"), pytest.raises(MissingSparkError, match="at most one"):
            SparkEngine(spill)
        with subtests.test("session of the process"):
            config = release_config(tmp_path, engine="spark")
            with open_configured(config) as engine:
                assert stage_files(engine, raw[1], tmp_path) == expected
            assert len(started.collect(started.sql("SELECT 1 AS one"), 1)) == 1  # not stopped
    with (
        subtests.test("files", cores=1, files=2),
        SparkEngine(spill, master="local[1]", settings=QUICK) as engine,
    ):
        assert stage_files(engine, raw[2], tmp_path) == expected
    assert list(spill.iterdir()) == []


def parquet_files(folder):
    """The bytes of all Parquet files below a folder, by path."""
    files = (path for path in folder.rglob("*.parquet") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def workers_of_spark(driver):
    """Process ids of the Python workers that Spark started for this driver."""
    return [pid for pid in descendants_of(driver) if "pyspark.daemon" in command_of(pid)]


def test_after_the_driver_is_killed_nothing_is_published_and_the_next_run_succeeds(
    tmp_path, monkeypatch
):
    skip_without_spark()
    monkeypatch.setenv("SETANON_SECRET", "made up for a test")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK["spark.driver.extraJavaOptions"])
    undisturbed = release_config(tmp_path, GOOD_ROWS)
    assert materialize(undisturbed).success
    killed = str(tmp_path / "killed")
    spark = {"engine": "spark", "spark_master": "local[2]"}
    config = release_config(tmp_path, GOOD_ROWS, out=killed, **spark)
    command = [
        sys.executable, "-m", "setanon_dagster.cli", "release", config.source.uri, "--k", "3",
        "--name", config.name, "--out", killed, "--engine", "spark", "--spark-master", "local[2]",
    ]  # fmt: skip
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    driver = subprocess.Popen(command, **quiet)  # noqa: S603 - this Python, and our own arguments
    started = []
    try:
        # Workers run while the function of a stage does: the first is that of threads.
        wait_until(lambda: workers_of_spark(driver.pid) or driver.poll() is not None)
        assert driver.poll() is None
        started = descendants_of(driver.pid)
        driver.kill()
        assert driver.wait(SECONDS) < 0
        # Java ends when its driver does, and ends the workers.
        wait_until(lambda: not any(map(command_of, started)))
    finally:
        for pid in (driver.pid, *started):
            if command_of(pid):
                os.kill(pid, signal.SIGKILL)
    stages = config.stages / config.name
    assert (stages / "raw_log" / "all.parquet").exists()
    assert not (stages / "threads" / "all.parquet").exists()
    assert latest_release(config) is None

    assert materialize(config).success
    assert latest_release(config) == latest_release(undisturbed)
    assert parquet_files(config.folder) == parquet_files(undisturbed.folder)
    assert list(config.stages.glob(".*")) == []
