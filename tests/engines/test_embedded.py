"""The same bytes, however many processes, whatever the size of chunks and the memory."""

from datetime import datetime, timedelta
from functools import partial
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
    {"rows": 1},
    {"rows": 37},
    {"rows": 10_000},
    {"rows": 50, "memory_limit": "200MB"},
    {"rows": 100, "workers": 2, "enough": 0},
]


def log(users=150):
    """The demo's rows, mixed, with times that are often equal."""
    names, _, queries = map(sum, zip(*demo_rows(users), strict=True), ([], [], []))
    n = len(names)
    order = sorted(range(n), key=lambda row: row * 7919 % n)
    return pa.table(
        {
            "user": [names[row] for row in order],
            "time": [START + timedelta(minutes=place // 3) for place in range(n)],
            "query": [queries[row] for row in order],
            "line": range(n),
        }
    )


def stored(folder, **settings):
    """The digests of what each stage writes to its file."""
    folder.mkdir()
    files = {}
    with EmbeddedEngine(folder / "spill", **settings) as engine:
        parquet.write_table(log(), folder / "raw.parquet")
        for name, made in (
            ("threads", lambda: threads_stream(engine, files["raw"], PARAMS)),
            ("clusters", lambda: clusters_stream(engine, files["threads"], PARAMS)),
            ("published", lambda: anonymize_clusters(files["clusters"], PARAMS).threads),
            ("ledger", lambda: anonymize_clusters(files["clusters"], PARAMS).ledger),
        ):
            files.setdefault("raw", engine.read(str(folder / "raw.parquet")))
            engine.write(made(), str(folder / f"{name}.parquet"))
            files[name] = engine.read(str(folder / f"{name}.parquet"))
        assert [path for path in engine.folder.rglob("*") if path.is_file()] == []
    assert list((folder / "spill").glob("chunks-*")) == []
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.parquet"))
    }


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("reference") / "one")


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_file_has_the_same_bytes_under_all_settings(tmp_path, reference, settings):
    assert len(reference) == 5
    assert stored(tmp_path / "other", **settings) == reference


@pytest.mark.parametrize("identity", ["exact", "minhash"])
def test_streams_hold_the_rows_of_the_tables(tmp_path, identity):
    params = ReleaseParams(3, secret=b"made up for a test", identity=identity)
    threads = threads_table(log(), params)
    clusters = clusters_table(threads, params)
    with EmbeddedEngine(tmp_path, rows=10) as engine:
        raw = engine.sql("FROM raw", raw=log())
        assert threads_stream(engine, raw, params).read_all() == threads
        stored_threads = engine.sql("FROM threads", threads=threads)
        assert clusters_stream(engine, stored_threads, params).read_all() == clusters


def test_a_user_with_half_of_the_log_is_separated_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "MAX_SESSION_QUERIES", 50)
    monkeypatch.setattr(stage, "separate_threads", partial(core.separate_threads, longest=50))
    people = log()
    robot = people.set_column(0, "user", pa.array(["m"] * len(people)))
    both = pa.concat_tables([people, robot]).set_column(3, "line", pa.array(range(2 * len(people))))
    whole = threads_table(both, PARAMS)
    sizes = []
    with EmbeddedEngine(tmp_path, rows=20) as engine:
        raw = engine.sql("FROM raw", raw=both)
        with listen_to_progress(lambda _, done, __: sizes.append(done)):
            assert threads_stream(engine, raw, PARAMS).read_all() == whole
    assert max(b - a for a, b in pairwise(sizes)) < 100
    assert pc.max(whole["position"]).as_py() < 50


def doubled(table):
    return pa.table({"key": table["key"], "twice": pc.multiply(table["row"], 2)})


def fail(_table):
    raise MalformedInputError("the rows must be other ones.")


SCHEMA = pa.schema({"key": pa.string(), "twice": pa.int64()})


@pytest.mark.parametrize("workers", [1, 2])
def test_groups_come_in_order_and_are_counted(tmp_path, workers):
    heard = []
    with EmbeddedEngine(tmp_path, workers=workers, rows=2, enough=0) as engine:
        rows = engine.sql("SELECT chr(97 + (i % 5)::INT) AS key, i AS row FROM range(20) t(i)")
        with listen_to_progress(lambda *told: heard.append(told)):
            made = engine.group_map(
                rows, "key", "row DESC", doubled, SCHEMA, what="rows"
            ).read_all()
    assert made["key"].to_pylist() == sorted(made["key"].to_pylist())
    assert made["twice"].to_pylist()[:4] == [30, 20, 10, 0]
    assert heard == [("rows", done, 20) for done in (4, 8, 12, 16, 20)]


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_function_raises_comes_out_of_the_writing_as_it_is(tmp_path, workers):
    with EmbeddedEngine(tmp_path / "own", workers=workers, rows=2, enough=0) as engine:
        rows = engine.sql("SELECT 'canary' || i AS key, i AS row FROM range(20) t(i)")
        made = engine.group_map(rows, "key", "row", fail, SCHEMA)
        with pytest.raises(MalformedInputError, match=r"^the rows must be other ones\.$"):
            engine.write(made, str(tmp_path / "made.parquet"))
    assert list(tmp_path.glob("*.parquet")) == []
    assert list((tmp_path / "own").glob("chunks-*")) == []


def test_what_it_returns_must_have_the_columns_that_were_promised(tmp_path):
    with EmbeddedEngine(tmp_path) as engine:
        rows = engine.sql("SELECT 'a' AS key, 1 AS row")
        with pytest.raises(ValueError, match="schema"):
            engine.group_map(rows, "key", "row", negated, SCHEMA).read_all()


def negated(table):
    return pa.table({"less": pc.negate(table["row"])})


def test_few_rows_start_no_process(tmp_path):
    with EmbeddedEngine(tmp_path, workers=8) as engine:
        rows = engine.sql("SELECT 'a' AS key, 1::BIGINT AS row")
        assert len(engine.group_map(rows, "key", "row", doubled, SCHEMA).read_all()) == 1
        assert engine._pool is None  # noqa: SLF001 - nothing else tells


def test_relations_and_tables_meet_in_sql_and_what_is_written_can_be_read(tmp_path):
    with EmbeddedEngine(tmp_path) as engine:
        known = engine.sql("FROM given", given=pa.table({"user": ["a", "b"], "n": [1, 2]}))
        assert engine.write(known, str(tmp_path / "known.parquet")) == 2
        again = engine.read(str(tmp_path / "known.parquet"))
        assert isinstance(again, duckdb.DuckDBPyRelation)
        joined = engine.sql(
            "SELECT sum(n) FROM again JOIN other USING (n)", again=again, other=known
        )
        assert joined.fetchall() == [(3,)]
