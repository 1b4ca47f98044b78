"""Places of the stage `clusters`: stored out of core, read back, counted, and refused if faulty."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from setanon_core.columns.narrow import narrow_records
from setanon_core.errors import MalformedInputError, SetanonError
from setanon_core.grouping.improve import duplicates
from setanon_core.params import ReleaseParams
from setanon_core.partition import parts, plan
from setanon_core.partition.place_records import place_records
from setanon_core.pipeline.prepare_records import prepare_records
from setanon_dagster import metadata_keys
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines.process_pool import use_processes
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.stages import place_clusters
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_table
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.stages.place_clusters import place_counts, place_table, read_places
from setanon_dagster.stages.threads import threads_table

PARAMS = ReleaseParams(3, secret=b"made up for a test")
OTHERS = [
    {},
    {"operations": "deletions"},
    {"operations": "additions", "min_owners": 0},
    {"identity": "minhash"},
    {"identity": "minhash", "operations": "deletions"},
    {"combinations": "typed"},
    {"min_owners": 6},
]


@pytest.fixture(scope="module")
def stages():
    """Rows and threads of a demo log, and its clusters in one place."""
    names, times, queries = map(sum, zip(*demo_rows(300), strict=True), ([], [], []))
    raw = pa.table(
        {
            "user": names,
            "time": pa.array(times).cast(pa.timestamp("us")),
            "query": queries,
            "line": range(len(names)),
        }
    )
    threads = threads_table(raw, PARAMS)
    return {"raw_log": raw, "threads": threads, "clusters": clusters_table(threads, PARAMS)}


@pytest.fixture(autouse=True)
def _several_places(monkeypatch):
    monkeypatch.setattr(plan, "PLACE", 150)
    monkeypatch.setattr(duplicates, "MIN_REMAINING", 1)


def stored(clusters, params, folder):
    """The table that the stage stores."""
    path = folder / "clusters.parquet"
    parquet.write_table(clusters, path)
    path, rows = place_clusters.place_clusters(path, params, folder)
    table = parquet.read_table(path)
    assert len(table) == rows
    path.unlink()
    assert not list(folder.iterdir())
    return table


@pytest.mark.parametrize("changes", OTHERS, ids=str)
def test_places_are_those_of_all_threads_in_memory(stages, tmp_path, monkeypatch, changes):
    params = replace(PARAMS, **changes)
    threads = load_threads(stages["clusters"], params)
    prepared = prepare_records(
        narrow_records(threads.records), params, threads.keywords.item_owners
    )
    records, positions = prepared.stripped.records, prepared.stripped.positions
    places = plan.count_places(len(records))
    expected = place_records(records, params, places, prepared.digests)
    assert len(set(expected.own.tolist()) - {-1}) == places > 1

    monkeypatch.setattr(place_clusters, "PART_THREADS", 60)
    monkeypatch.setattr(place_clusters, "WRITTEN_THREADS", 20)
    monkeypatch.setattr(parts, "RECORDS_AT_ONCE", 70)
    table = stored(stages["clusters"], params, tmp_path)
    (batch,) = table.combine_chunks().to_batches()
    found = read_places(batch)
    assert np.array_equal(found.choices[positions], expected.choices)
    assert np.array_equal(found.sizes[positions], expected.sizes)
    withdrawn = np.setdiff1d(np.arange(len(table)), positions)
    assert not found.choices[withdrawn, 0].any()
    others = [name for name in table.column_names if name not in {"places", "savings"}]
    assert table.select(others) == stages["clusters"].select(others)


def test_processes_do_not_change_the_places(stages, tmp_path, monkeypatch):
    monkeypatch.setattr(place_clusters, "PART_THREADS", 120)
    monkeypatch.setattr(place_clusters, "WRITTEN_THREADS", 60)
    expected = stored(stages["clusters"], PARAMS, tmp_path)
    with use_processes(2, 10**6):
        assert stored(stages["clusters"], PARAMS, tmp_path) == expected


def test_users_in_any_order_have_places_too(tmp_path):
    items = [f"item{n % 7}" for n in range(400)] + [f"pair{n % 90}" for n in range(400)]
    raw = pa.table(
        {
            "record": [f"r{n % 400:03}" for n in range(800)],
            "item": items,
            "user": [f"u{n % 400 % 130}" for n in range(800)],
            "line": range(800),
        }
    )
    table = stored(basket_clusters_table(raw), PARAMS, tmp_path)
    assert "name" in table.column_names
    threads = load_threads(table, PARAMS)
    prepared = prepare_records(
        narrow_records(threads.records), PARAMS, threads.keywords.item_owners
    )
    records = prepared.stripped.records
    expected = place_records(records, PARAMS, 3, prepared.digests).choices
    (batch,) = table.combine_chunks().to_batches()
    assert np.array_equal(read_places(batch).choices[prepared.stripped.positions], expected)


def test_one_place_and_the_paper_keep_the_table(stages, monkeypatch):
    assert place_table(stages["clusters"], replace(PARAMS, method="paper")) is stages["clusters"]
    monkeypatch.setattr(plan, "PLACE", 10**6)
    assert place_table(stages["clusters"], PARAMS) is stages["clusters"]
    assert set(map(tuple, stages["clusters"]["places"].to_pylist())) == {(0,)}


def test_places_are_counted(stages):
    table = place_table(stages["clusters"], PARAMS)
    lists = table["places"].to_pylist()
    own = [places[0] for places in lists if places[0] >= 0]
    largest = max(map(own.count, set(own)))
    assert place_counts(duckdb.from_arrow(table)) == {
        metadata_keys.PLACES: len(set(own)),
        metadata_keys.LARGEST_PLACE: largest,
        metadata_keys.LARGEST_TO_MEAN: round(largest * len(set(own)) / len(own), 3),
        metadata_keys.SEVERAL_PLACES: sum(len(places) > 1 for places in lists),
        metadata_keys.UNCHANGED: len(lists) - len(own),
    }


def tampered(table, places, savings=None):
    """The table with other places, and with as many savings unless they are given."""
    savings = [[1] * len(each or []) for each in places] if savings is None else savings
    for name, values in (("places", places), ("savings", savings)):
        column = pa.array(values, place_clusters.COLUMNS[name])
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


FAULTY = {
    "null": (None, None),
    "empty": ([], []),
    "negative": ([-2], [0]),
    "beyond the last": ([99], [1]),
    "null place": ([None], [1]),
    "one saving too many": ([0], [1, 1]),
    "no savings": ([0], None),
    "five places": ([0] * 5, [1] * 5),
    "negative saving": ([0], [-1]),
    "second place beyond the last": ([0, 99], [2, 1]),
    "second place without number": ([0, -1], [2, 1]),
}


@pytest.mark.parametrize(("places", "savings"), FAULTY.values(), ids=FAULTY.keys())
def test_threads_without_a_valid_place_are_refused(stages, tmp_path, places, savings):
    table = place_table(stages["clusters"], PARAMS)
    lists = [table[name].to_pylist() for name in place_clusters.COLUMNS]
    lists[0][7], lists[1][7] = places, savings
    with pytest.raises(MalformedInputError, match=r"; 1 threads have others\. Materialize"):
        anonymize_clusters(tampered(table, *lists), PARAMS, tmp_path)


@pytest.mark.parametrize(
    ("name", "values"),
    [("places", [65536]), ("places", [0.5]), ("places", ["0"]), ("savings", [256]), ("savings", 1)],
)
def test_places_of_another_type_are_refused(stages, tmp_path, name, values):
    table = place_table(stages["clusters"], PARAMS)
    column = pa.array([values] * len(table))
    table = table.set_column(table.schema.get_field_index(name), name, column)
    with pytest.raises(MalformedInputError, match="lists of 16 and 8 bit integers"):
        anonymize_clusters(table, PARAMS, tmp_path)


def test_missing_columns_and_threads_that_few_share_are_refused(stages, tmp_path):
    table = place_table(stages["clusters"], PARAMS)
    with pytest.raises(MalformedInputError, match="must have the columns places and savings"):
        anonymize_clusters(table.drop_columns("savings"), PARAMS, tmp_path)
    unchanged = tampered(table, [[-1]] * len(table), [[0]] * len(table))
    with pytest.raises(MalformedInputError, match=r"with k = 3 users of such threads; \d+ do not"):
        anonymize_clusters(unchanged, PARAMS, tmp_path)
    # Threads that k = 3 users share may be too few for a larger k.
    with pytest.raises(MalformedInputError, match="k = 60 users of such threads"):
        anonymize_clusters(table, replace(PARAMS, k=60), tmp_path)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_tampered_places_are_refused_or_give_an_anonymous_release(
    stages, tmp_path_factory, random, is_valid
):
    folder = tmp_path_factory.mktemp("tampered")
    clusters = stages["clusters"]
    n_places = plan.count_places(sum(bool(items) for items in clusters["items"].to_pylist()))
    low, high = (0, n_places - 1) if is_valid else (-2, n_places)
    lists = [
        [random.randint(low, high) for _ in range(random.randint(1, 4))] for _ in clusters["thread"]
    ]
    savings = [[random.randint(0, 9) for _ in each] for each in lists]
    try:
        result = anonymize_clusters(tampered(clusters, lists, savings), PARAMS, folder)
    except SetanonError:
        assert not is_valid
        return
    tables = {
        **stages,
        "anonymized_threads": result.threads.read_all(),
        "ledger": result.ledger.read_all(),
        "cost_report": result.cost(),
    }
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, path in paths.items():
        parquet.write_table(tables[name], path)
    spec = ReleaseSpec(name="log", k=3, parameters={"method": "best"}, secret=PARAMS.secret)
    # The gate refuses what is not k-anonymous.
    published = publish(StageFiles(**paths), spec, folder / "out")
    assert published.verdict.violations == 0
    assert published.verdict.smallest_group >= 3
