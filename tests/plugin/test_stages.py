"""The stages on Arrow tables return what the core returns in memory."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from random import Random

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from setanon_core.columns.records import Records
from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.minhash import permuted_hashes, signatures, word_hashes
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.groups import Certificate, Cost
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import QueryRelease, ReleaseCost
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import release_baskets
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import release_log
from setanon_core.pipeline.log import threads_of_log as core_threads
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.stages import threads as threads_stage
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import (
    basket_clusters_table,
    cluster_counts,
    cluster_sizes,
    clusters_table,
)
from setanon_dagster.stages.cost_report import TOTAL, cost_table
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.stages.threads import thread_counts, threads_stream, threads_table

SECRET = b"made up for a test"
START = datetime(2006, 3, 1)  # noqa: DTZ001 - the times of a log have no zone
RAW = pa.schema([("user", pa.string()), ("time", pa.timestamp("us")), ("query", pa.string())])
QUERIES = ["pine straw", "pine straw mulch", "straw", "garden hose", "hosé", "", "pyne straw", "…"]
PIECES = st.sampled_from([*"aZ9 .-\n\t'", "é", "\u212a", "İ", "\0", "ß", "²"])
COLUMNS = {
    "queries": ["thread", "group", "position", "query"],
    "edited": ["thread", "group", "position", "query"],
    "sets": ["thread", "group", "keywords"],
}
COST = [
    "k", "method", "round", "threads", "keywords", "additions", "deletions", "withdrawals",
    "respellings", "query_rows", "true_query_rows", "lower_bound", "factor", "retained",
]  # fmt: skip


def raw_of(rows):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    return pa.table(list(map(list, columns)), schema=RAW)


def params_with(**parameters):
    return ReleaseParams(**{"k": 2, "secret": SECRET, **parameters})


def run_stages(raw, params):
    return read(anonymize_clusters(clusters_table(threads_table(raw, params), params), params))


def read(result):
    """Replace the streams by tables, sorted by thread, which can be read more than once."""
    rows = result.threads.read_all()
    order = [(name, "ascending") for name in ("thread", "position") if name in rows.column_names]
    assert_adjacent(rows["thread"].to_pylist())
    return replace(
        result, threads=rows.sort_by(order), ledger=result.ledger.read_all(), cost=result.cost()
    )


def assert_adjacent(threads):
    """The rows of each thread are adjacent."""
    assert len([thread for thread, _ in groupby(threads)]) == len({*threads})


@st.composite
def logs(draw):
    """Rows with distinct times."""
    rows = draw(st.lists(st.tuples(st.sampled_from("abcdé"), st.sampled_from(QUERIES)), max_size=9))
    gaps = st.sampled_from([1, 60, 86_400 * 40])
    seconds = [draw(gaps) for _ in rows]
    return [
        (user, START + timedelta(seconds=sum(seconds[: n + 1])), query)
        for n, (user, query) in enumerate(rows)
    ]


PARAMS = st.builds(
    params_with,
    k=st.integers(2, 3),
    format=st.sampled_from(["queries", "edited", "sets"]),
    method=st.sampled_from(["best", "paper"]),
    p=st.integers(1, 4),
    min_owners=st.sampled_from([None, 0]),
    identity=st.sampled_from(["exact", "minhash"]),
    combinations=st.just("any"),
    unit=st.sampled_from(["thread", "session", "query"]),
)


def rows_by_user(names, users, row_names, *columns):
    """The user and the rows of each thread, sorted."""
    rows = {name: [] for name in names}
    for name, *row in zip(row_names, *columns, strict=True):
        rows[name].append(row)
    return sorted((user, rows[name]) for name, user in zip(names, users, strict=True))


def assert_equal(tables, result):
    release, ledger, cost = result.release, result.ledger, result.cost
    if isinstance(release, QueryRelease):
        columns, expected = ("position", "query"), (release.positions, release.queries)
    else:
        columns, expected = ("keywords",), (map(list, release.keywords),)
    names, users = (tables.ledger[name].to_pylist() for name in ("thread", "user"))
    columns = [tables.threads[name].to_pylist() for name in ("thread", *columns)]
    assert names == sorted({*columns[0]})
    # Threads have other names and another order in the core.
    assert rows_by_user(names, users, *columns) == rows_by_user(
        ledger.thread_ids, ledger.users, release.thread_ids, *expected
    )
    total = tables.cost.to_pylist()[-1]
    flips = cost.certificate.cost
    assert (total["round"], total["k"]) == (TOTAL, cost.k)
    assert (total["threads"], total["keywords"]) == (cost.threads, cost.keywords)
    assert (total["additions"], total["deletions"]) == (flips.additions, flips.deletions)
    assert (total["withdrawals"], total["respellings"]) == (flips.withdrawals, cost.respellings)
    assert (total["query_rows"], total["true_query_rows"]) == (
        cost.query_rows,
        cost.true_query_rows,
    )
    assert total["lower_bound"] == cost.certificate.lower_bound
    assert (total["factor"], total["retained"]) == (cost.certificate.factor, cost.retained)
    assert [row["round"] for row in tables.cost.to_pylist()[:-1]] == [r.name for r in cost.rounds]


@given(logs(), PARAMS)
@settings(max_examples=30)
def test_stages_of_a_log_equal_the_core(rows, params):
    assert_equal(run_stages(raw_of(rows), params), release_log(Log.from_rows(rows), params))


@given(logs(), PARAMS, st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_line_order_does_not_matter_if_times_differ(rows, params, random):
    shuffled = random.sample(rows, len(rows))
    one, other = run_stages(raw_of(rows), params), run_stages(raw_of(shuffled), params)
    assert one.threads.drop_columns("group") == other.threads.drop_columns("group")
    assert (one.ledger["user"], one.cost) == (other.ledger["user"], other.cost)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["tea", "é", "a b"])), max_size=12),
    st.sampled_from(["best", "paper"]),
    st.booleans(),
)
@settings(max_examples=20)
def test_stages_of_baskets_equal_the_core(pairs, method, one_user_per_record):
    records, items = [f"r{n}" for n, _ in pairs], [item for _, item in pairs]
    users = records if one_user_per_record else [f"u{n % 4}" for n, _ in pairs]
    params = params_with(method=method, format="sets")
    raw = pa.table(
        [pa.array(each, pa.string()) for each in (records, items, users)],
        names=["record", "item", "user"],
    )
    result = read(anonymize_clusters(basket_clusters_table(raw), params))
    assert_equal(result, release_baskets(Baskets(records, items, users), params))


def demo(users=100):
    """Rows of the demo log in time order, with distinct times."""
    names, times, queries = map(sum, zip(*demo_rows(users), strict=True), ([], [], []))
    rows = sorted(zip(times, names, queries, strict=True))
    return [
        (user, datetime.fromisoformat(time) + timedelta(microseconds=n), query)
        for n, (time, user, query) in enumerate(rows)
    ]


@pytest.mark.parametrize("format", ["queries", "edited", "sets"])
@pytest.mark.parametrize("method", ["best", "paper"])
def test_stages_of_the_demo_log_equal_the_core(format, method):  # noqa: A002
    params = params_with(k=2, p=1, format=format, method=method)
    result = run_stages(raw_of(demo()), params)
    assert len(result.ledger) > 10
    assert result.threads.column_names == COLUMNS[format]
    assert_equal(result, release_log(Log.from_rows(demo()), params))


@pytest.mark.parametrize("format", ["queries", "edited", "sets"])
def test_empty_log_keeps_columns_and_types(format):  # noqa: A002
    params = params_with(format=format)
    empty, full = raw_of([]), raw_of(demo())
    threads = threads_table(empty, params)
    assert threads.schema == threads_table(full, params).schema
    clusters = clusters_table(threads, params)
    assert clusters.schema == clusters_table(threads_table(full, params), params).schema
    result = read(anonymize_clusters(clusters, params))
    other = run_stages(full, params)
    assert result.threads.schema == other.threads.schema
    assert result.ledger.schema == other.ledger.schema
    assert result.cost.schema == other.cost.schema
    assert (len(result.threads), len(result.ledger)) == (0, 0)
    assert result.cost["keywords"].to_pylist()[-1] == 0
    assert len(basket_clusters_table(empty.rename_columns(["record", "item", "user"]))) == 0


def test_threads_and_clusters_have_the_documented_columns():
    params = params_with()
    threads = threads_table(raw_of(demo()), params)
    assert threads.column_names == ["thread", "user", "time", "position", "query"]
    rows = threads.to_pylist()
    assert rows == sorted(rows, key=lambda row: (row["thread"], row["position"]))
    clusters = clusters_table(threads, params)
    kinds = dict(zip(clusters.column_names, map(str, clusters.schema.types), strict=True))
    columns = ["thread", "user", "words", "lengths", "items", "keys", "places", "savings"]
    assert list(kinds) == columns
    assert "uint64" in kinds["keys"]
    assert ("int16" in kinds["places"], "int8" in kinds["savings"]) == (True, True)
    for row in clusters.to_pylist():
        assert sum(row["lengths"]) == len(row["words"])
        assert row["items"] == sorted(set(row["words"]))
        assert len(row["keys"]) == 4
        assert row["places"] == row["savings"] == [0]


@pytest.mark.parametrize("method", ["best", "paper"])
def test_sweep_equals_the_core(method):
    params, ks = params_with(method=method), range(2, 6)
    clusters = clusters_table(threads_table(raw_of(demo()), params), params)
    table = cost_table(sweep_threads(load_threads(clusters, params), params, ks), params)
    assert table.column_names == COST
    totals = [row for row in table.to_pylist() if row["round"] == TOTAL]
    costs = list(sweep_threads(core_threads(Log.from_rows(demo()), params), params, ks))
    assert [row["k"] for row in totals] == list(ks)
    for row, cost in zip(totals, costs, strict=True):
        assert row["deletions"] == cost.certificate.cost.deletions
        assert row["withdrawals"] == cost.certificate.cost.withdrawals
        assert row["factor"] == cost.certificate.factor


def test_cost_without_lower_bound_has_infinite_factor():
    flips = Cost(additions=1, deletions=2, withdrawals=0)
    cost = ReleaseCost(2, 5, 9, 0, Certificate(flips, lower_bound=0, proven_optimal=False))
    assert cost_table([cost], params_with())["factor"].to_pylist() == [float("inf")]


def published_digest(rows, folder, secret=SECRET):
    """Digest of the release of these rows; stages are exchanged as files."""
    folder.mkdir()
    params = params_with(k=3, secret=secret)
    raw = raw_of(rows)
    threads = threads_table(raw, params)
    clusters = clusters_table(threads, params)
    result = read(anonymize_clusters(clusters, params))
    tables = [result.threads, result.ledger, clusters, result.cost, raw, threads]
    names = ("anonymized_threads", "ledger", "clusters", "cost_report", "raw_log", "threads")
    paths = {name: folder / f"{name}.parquet" for name in names}
    for path, table in zip(paths.values(), tables, strict=True):
        parquet.write_table(table, path)
    spec = ReleaseSpec(name="trial", k=3, parameters={"method": "best"}, secret=secret)
    return publish(StageFiles(**paths), spec, folder / "out").digest


def test_release_bytes_depend_on_secret_and_not_on_line_order(tmp_path):
    rows = demo(60)
    first = published_digest(rows, tmp_path / "a")
    assert published_digest(rows, tmp_path / "b") == first
    assert published_digest(Random(7).sample(rows, len(rows)), tmp_path / "c") == first  # noqa: S311
    assert published_digest(rows, tmp_path / "d", b"another") != first


@given(st.lists(st.text(PIECES, max_size=8) | st.text(max_size=8), max_size=6))
@settings(max_examples=60)
def test_queries_are_tokenized_as_in_the_core(queries):
    raw = raw_of([(f"u{n}", START, text) for n, text in enumerate(queries)])

    table = clusters_table(threads_table(raw, params_with()), params_with())

    result = dict(zip(table["user"].to_pylist(), table["words"].to_pylist(), strict=True))
    assert result == {f"u{n}": tokenize(text) for n, text in enumerate(queries)}


def test_stored_keys_are_those_of_4_3_2_and_1_min_hashes():
    params = params_with()
    clusters = clusters_table(threads_table(raw_of(demo()), params), params)
    sets = clusters["items"].to_pylist()
    records = Records.from_sets(sets)

    expected = cluster_keys(records, word_hashes(map(str, records.vocabulary)), (4, 3, 2, 1))

    assert clusters["keys"].to_pylist() == expected.tolist()


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_clusters_of_p_min_hashes_are_counted(p):
    params = params_with()
    clusters = clusters_table(threads_table(raw_of(demo()), params), params)
    records = Records.from_sets(clusters["items"].to_pylist())
    hashes = permuted_hashes(word_hashes(map(str, records.vocabulary)), range(1, 1 + p))
    sizes = Counter(map(tuple, signatures(records, hashes).tolist()))

    counts = cluster_sizes(duckdb.from_arrow(clusters), p)

    assert counts == (len(sizes), max(sizes.values()))


def test_a_long_session_is_split_by_time_and_not_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(threads_stage, "MAX_SESSION_QUERIES", 3)
    # In the order of lines, the first three rows would be minutes 9, 7, 5 in place of 0, 1, 2.
    minutes = [9, 7, 5, 3, 1, 0, 2, 4, 6, 8]
    raw = pa.table(
        {
            "user": ["a"] * 10,
            "time": [START + timedelta(minutes=minute) for minute in minutes],
            "query": ["pine straw"] * 10,
            "line": range(10),
        }
    )
    with EmbeddedEngine(tmp_path, chunk_rows=1) as engine:
        relation = engine.sql("FROM raw", raw=raw)
        rows = threads_stream(engine, relation, params_with()).read_all().to_pylist()

    found = [(row["thread"], (row["time"] - START).seconds // 60) for row in rows]
    assert found == [(minute // 3, minute) for minute in range(10)]


def test_rows_of_equal_times_keep_the_order_of_their_lines(tmp_path):
    queries = ["pine straw", "pine straws", "pine straw mulch", "straw pine"]
    raw = pa.table(
        {
            "user": ["a"] * 40,
            "time": [START] * 40,
            "query": [queries[n * 7 % 4] for n in range(40)],
            "line": [n * 17 % 40 for n in range(40)],
        }
    )
    with EmbeddedEngine(tmp_path) as engine:
        relation = engine.sql("FROM raw", raw=raw)
        threads = threads_stream(engine, relation, params_with()).read_all()

    by_line = sorted(zip(raw["line"].to_pylist(), raw["query"].to_pylist(), strict=True))
    assert threads["query"].to_pylist() == [query for _, query in by_line]


def test_users_threads_and_queries_are_counted():
    params = params_with()
    minute = timedelta(minutes=1)
    rows = [("a", START, "pine straw"), ("a", START + minute, "pine straws")]
    rows += [("a", START + 2 * minute, "caffeine"), ("b", START, "caffeine")]
    threads = threads_table(raw_of(rows), params)
    clusters = clusters_table(threads, params)

    of_threads = thread_counts(duckdb.from_arrow(threads))
    of_clusters = cluster_counts(duckdb.from_arrow(clusters), p=2)
    of_nothing = thread_counts(duckdb.from_arrow(threads.slice(0, 0)))
    of_one = thread_counts(duckdb.from_arrow(threads.slice(0, 2)))
    one_cluster = cluster_counts(duckdb.from_arrow(clusters.slice(0, 1)), p=2)
    no_cluster = cluster_counts(duckdb.from_arrow(clusters.slice(0, 0)), p=2)

    assert list(of_threads.values()) == [2, 3, 4 / 3]
    assert list(of_clusters.values()) == [2, 3, 5 / 3, 2, 2, 2, 1, 3, 1, 0, 0]
    assert list(of_nothing.values()) == [0, 0, 0]
    assert list(of_one.values()) == [1, 1, 2]
    assert list(one_cluster.values()) == [1, 1, 3, 2, 1, 1, 1, 1, 1, 0, 0]
    assert list(no_cluster.values()) == [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]


def test_method_paper_groups_by_the_stored_keys():
    rows = [(f"u{n}", START + timedelta(days=n), "pine straw") for n in range(4)]
    params = params_with(method="paper", format="sets")
    clusters = clusters_table(threads_table(raw_of(rows), params), params)
    assert len(read(anonymize_clusters(clusters, params)).ledger) == 4
    # A key per thread: no cluster has two users.
    keys = pa.array([[n] * 4 for n in range(4)], clusters["keys"].type)
    changed = clusters.set_column(clusters.column_names.index("keys"), "keys", keys)
    assert len(read(anonymize_clusters(changed, params)).ledger) == 0
