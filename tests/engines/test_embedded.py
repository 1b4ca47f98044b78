"""The embedded engine: results do not depend on processes, chunk size or memory limit."""

from datetime import datetime, timedelta
from functools import cache, partial
from hashlib import sha256
from itertools import pairwise

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from setanon_core.errors import MalformedInputError
from setanon_core.params import ReleaseParams
from setanon_core.runtime.progress import listen_to_progress
from setanon_core.threads import separate as core
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.stages import threads as stage
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_stream, clusters_table
from setanon_dagster.stages.threads import threads_stream, threads_table

START = datetime(2006, 3, 1)  # noqa: DTZ001 - the times of a log have no zone
PARAMS = ReleaseParams(3, secret=b"made up for a test")
SETTINGS = [
    {"chunk_rows": 1},
    {"chunk_rows": 37, "memory_limit": "200MB"},
    {"chunk_rows": 100, "workers": 2, "min_parallel_rows": 0},
]


@cache
def shuffled_log(users=80):
    """Rows of the demo log in another order, with times that are often equal."""
    names, _, queries = map(sum, zip(*demo_rows(users), strict=True), ([], [], []))
    n = len(names)
    order = sorted(range(n), key=lambda row: row * 7919 % n)
    return pa.table(
        {
            "user": [names[row] for row in order],
            "time": [START + timedelta(minutes=position // 3) for position in range(n)],
            "query": [queries[row] for row in order],
            "line": range(n),
        }
    )


def file_digests(folder, **settings):
    """Run all stages through files; the digest of each file."""
    folder.mkdir()
    parquet.write_table(shuffled_log(), folder / "raw.parquet")
    with EmbeddedEngine(folder / "spill", **settings) as engine:

        def write(rows, name):
            engine.write(rows, str(folder / f"{name}.parquet"))
            return engine.read(str(folder / f"{name}.parquet"))

        raw = engine.read(str(folder / "raw.parquet"))
        threads = write(threads_stream(engine, raw, PARAMS), "threads")
        clusters = write(clusters_stream(engine, threads, PARAMS), "clusters")
        result = anonymize_clusters(clusters, PARAMS)
        write(result.threads, "published")
        write(result.ledger, "ledger")
        assert [path for path in engine.folder.rglob("*") if path.is_file()] == []
    assert list((folder / "spill").iterdir()) == []
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.parquet"))
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return file_digests(tmp_path_factory.mktemp("reference") / "default")


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_files_are_byte_identical_for_all_settings(tmp_path, reference, settings):
    assert len(reference) == 5
    assert file_digests(tmp_path / "other", **settings) == reference


@pytest.mark.parametrize(
    ("identity", "unit"),
    [("exact", "thread"), ("minhash", "thread"), ("exact", "session"), ("exact", "query")],
)
def test_streams_equal_tables(tmp_path, identity, unit):
    params = ReleaseParams(3, secret=b"made up for a test", identity=identity, unit=unit)
    threads = threads_table(shuffled_log(), params)
    clusters = clusters_table(threads, params)
    with EmbeddedEngine(tmp_path, chunk_rows=10) as engine:
        raw = engine.sql("FROM raw", raw=shuffled_log())
        assert threads_stream(engine, raw, params).read_all() == threads
        threads_relation = engine.sql("FROM threads", threads=threads)
        assert clusters_stream(engine, threads_relation, params).read_all() == clusters


def test_session_of_one_user_with_half_of_the_log_is_split(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "MAX_SESSION_QUERIES", 50)
    split = partial(core.separate_threads, max_session_queries=50)
    monkeypatch.setattr(stage, "separate_threads", split)
    log = shuffled_log()
    n = len(log)
    one_user = log.set_column(0, "user", pa.array(["m"] * n))
    both = pa.concat_tables([log, one_user]).set_column(3, "line", pa.array(range(2 * n)))
    expected = threads_table(both, PARAMS)
    rows_done = []
    with EmbeddedEngine(tmp_path, chunk_rows=20) as engine:
        raw = engine.sql("FROM raw", raw=both)
        with listen_to_progress(lambda _, done, __: rows_done.append(done)):
            assert threads_stream(engine, raw, PARAMS).read_all() == expected
    assert max(b - a for a, b in pairwise(rows_done)) < 100
    assert pc.max(expected["position"]).as_py() < 50


SCHEMA = pa.schema({"key": pa.string(), "doubled": pa.int64()})


def double(table):
    return pa.table({"key": table["key"], "doubled": pc.multiply(table["row"], 2)})


def fail(_table):
    raise MalformedInputError("the rows must be valid.")


def negate(table):
    return pa.table({"negated": pc.negate(table["row"])})


@pytest.mark.parametrize("workers", [1, 2])
def test_group_map_keeps_the_order_reports_progress_and_raises_errors_unchanged(tmp_path, workers):
    progress = []
    with EmbeddedEngine(
        tmp_path / "engine", workers=workers, chunk_rows=2, min_parallel_rows=0
    ) as engine:
        rows = engine.sql("SELECT chr(97 + (i % 5)::INT) AS key, i AS row FROM range(20) t(i)")
        with listen_to_progress(lambda *report: progress.append(report)):
            result = engine.group_map(
                rows, "key", "row DESC", double, SCHEMA, step="rows"
            ).read_all()
        assert result["key"].to_pylist() == sorted(result["key"].to_pylist())
        assert result["doubled"].to_pylist()[:4] == [30, 20, 10, 0]
        assert progress == [("rows", done, 20) for done in (4, 8, 12, 16, 20)]

        rows = engine.sql("SELECT 'canary' || i AS key, i AS row FROM range(20) t(i)")
        failing = engine.group_map(rows, "key", "row", fail, SCHEMA)
        with pytest.raises(MalformedInputError, match=r"^the rows must be valid\.$"):
            engine.write(failing, str(tmp_path / "output.parquet"))
    assert list(tmp_path.glob("*.parquet")) == []
    assert list((tmp_path / "engine").iterdir()) == []


def test_result_must_have_the_declared_schema(tmp_path):
    with EmbeddedEngine(tmp_path) as engine:
        rows = engine.sql("SELECT 'a' AS key, 1 AS row")
        with pytest.raises(ValueError, match="schema"):
            engine.group_map(rows, "key", "row", negate, SCHEMA).read_all()


def test_few_rows_start_no_process(tmp_path):
    with EmbeddedEngine(tmp_path, workers=8) as engine:
        rows = engine.sql("SELECT 'a' AS key, 1::BIGINT AS row")
        assert len(engine.group_map(rows, "key", "row", double, SCHEMA).read_all()) == 1
        assert engine._pool is None  # noqa: SLF001 - no public attribute shows it


def test_sql_joins_relations_and_tables_and_reads_written_files(tmp_path):
    with EmbeddedEngine(tmp_path) as engine:
        relation = engine.sql("FROM numbers", numbers=pa.table({"user": ["a", "b"], "n": [1, 2]}))
        assert engine.write(relation, str(tmp_path / "numbers.parquet")) == 2
        read_back = engine.read(str(tmp_path / "numbers.parquet"))
        assert isinstance(read_back, duckdb.DuckDBPyRelation)
        joined = engine.sql(
            "SELECT sum(n) FROM file JOIN other USING (n)", file=read_back, other=relation
        )
        assert joined.fetchall() == [(3,)]
