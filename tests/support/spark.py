"""A shuffled log, its stage files by any engine, and functions that Spark can send to workers."""

import warnings
from datetime import datetime, timedelta
from functools import cache

import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core.params import ReleaseParams
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.spark_session import MissingSparkError, require_spark
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_stream, tokenize_threads
from setanon_dagster.stages.place_clusters import place_clusters
from setanon_dagster.stages.threads import threads_stream, threads_table

START = datetime(2006, 3, 1)  # noqa: DTZ001 - the times of a log have no zone
PARAMS = ReleaseParams(3, secret=b"made up for a test")
NOT_TESTED = "The engine spark is not tested"

EXPECTED_WARNINGS = (
    pytest.mark.filterwarnings(f"default:{NOT_TESTED}:UserWarning"),
    # PySpark leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
)
"""Marks of tests that start Spark: the warning that it is missing is shown, its own are not."""

QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Settings for small data: less time for compilation."""


def skip_without_spark():
    """Skip with a warning, which the summary of pytest shows, if Java or PySpark is missing."""
    try:
        require_spark()
    except MissingSparkError as error:
        warnings.warn(f"{NOT_TESTED}: {error}", stacklevel=2)
        pytest.skip(str(error))


@cache
def shuffled_log(users=80):
    """Rows of the demo log in another order, with users of several scripts and equal times."""
    names, _, queries = map(sum, zip(*demo_rows(users), strict=True), ([], [], []))
    n = len(names)
    order = sorted(range(n), key=lambda row: row * 7919 % n)
    first = {name: row for row, name in reversed(list(enumerate(names)))}
    users_of = [names[row] for row in order]
    prefixes = ["", "Z", "é", "\uffff", "😀"]
    return pa.table(
        {
            "user": [prefixes[len(queries[first[name]]) % 5] + name for name in users_of],
            "time": [START + timedelta(minutes=position // 3) for position in range(n)],
            "query": [queries[row] for row in order],
            "line": range(n),
        }
    )


def write_raw(folder, files):
    """Write the log as a folder of Parquet files; return the folder."""
    folder.mkdir()
    log = shuffled_log()
    size = -(-len(log) // files)
    for number in range(files):
        parquet.write_table(log.slice(number * size, size), folder / f"{number}.parquet")
    return folder


def stage_files(engine, raw, folder):
    """The bytes of the files of threads and clusters that an engine writes."""
    files = {name: folder / f"{name}.parquet" for name in ("threads", "clusters")}
    engine.write(threads_stream(engine, engine.read(raw), PARAMS), str(files["threads"]))
    threads = engine.read(str(files["threads"]))
    engine.write(clusters_stream(engine, threads, PARAMS), str(files["clusters"]))
    return {name: file.read_bytes() for name, file in files.items()}


def embedded_files(folder):
    """The stage files of the embedded engine, which those of Spark must equal."""
    (raw,) = write_raw(folder / "raw", 1).iterdir()
    with EmbeddedEngine(folder / "spill") as engine:
        return stage_files(engine, str(raw), folder)


def anonymized(folder):
    """Places, published rows, ledger and cost of the log, computed by the current executor.

    The first are the bytes of the file that the stage stores.
    """
    one_place = tokenize_threads(threads_table(shuffled_log(), PARAMS), None, "exact")
    parquet.write_table(one_place, folder / "one_place.parquet")
    path, _ = place_clusters(folder / "one_place.parquet", PARAMS, folder)
    stored = path.read_bytes()
    result = anonymize_clusters(parquet.read_table(path), PARAMS, folder)
    path.unlink()
    return stored, result.threads.read_all(), result.ledger.read_all(), result.cost()


def part_sums(size):
    """A function that splits each group into parts of `size` rows, and adds the rows of each."""

    # Defined here: Spark sends local functions by value, so workers need not import the tests.
    def sums(table):
        keys, rows = table["key"].to_pylist(), table["row"].to_pylist()
        parts = {}
        seen = {}
        for key, row in zip(keys, rows, strict=True):
            part = seen.get(key, 0) // size
            seen[key] = seen.get(key, 0) + 1
            parts[key, part] = parts.get((key, part), 0) + row
        return pa.table(
            {"key": [key for key, _ in parts], "total": pa.array(parts.values(), pa.int64())}
        )

    return sums
