"""A release whose threads are grouped place by place: published, and equal for all processes."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core import edits
from setanon_core.params import ReleaseParams
from setanon_core.partition import parts, plan
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines import process_pool
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.stages import load_threads, place_clusters
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.load_large import load_large
from setanon_dagster.stages.place_clusters import place_table
from setanon_dagster.stages.threads import threads_table

PARAMS = ReleaseParams(3, secret=b"made up for a test")


@pytest.fixture(scope="module")
def stages():
    """Rows, threads and clusters of a demo log of about 1,200 threads."""
    names, times, queries = map(sum, zip(*demo_rows(600), strict=True), ([], [], []))
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


def in_places(stages):
    """The stages, with the places of a large log."""
    return {**stages, "clusters": place_table(stages["clusters"], PARAMS)}


def released(stages, folder):
    """Group, edit and publish; the digest of the release, and the cost."""
    folder.mkdir()
    result = anonymize_clusters(stages["clusters"], PARAMS)
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
    return publish(StageFiles(**paths), spec, folder / "out").digest, tables["cost_report"]


def rows_of(result):
    rows = result.threads.read_all()
    order = [(name, "ascending") for name in ("thread", "position") if name in rows.column_names]
    return rows.sort_by(order), result.ledger.read_all(), result.cost()


@pytest.mark.parametrize("form", ["queries", "edited", "sets"])
def test_columns_in_files_give_the_same_rows_as_columns_in_memory(
    stages, tmp_path, monkeypatch, form
):
    monkeypatch.setattr(plan, "PLACE", 300)
    params = replace(PARAMS, format=form)
    expected = rows_of(anonymize_clusters(stages["clusters"], params))
    monkeypatch.setattr(load_threads, "BATCH_THREADS", 100)
    monkeypatch.setattr(place_clusters, "PART_THREADS", 140)
    monkeypatch.setattr(place_clusters, "WRITTEN_THREADS", 70)
    monkeypatch.setattr(parts, "RECORDS_AT_ONCE", 150)
    monkeypatch.setattr(edits, "BATCH_WORDS", 500)
    clusters = in_places(stages)["clusters"]
    assert rows_of(anonymize_clusters(clusters, params, tmp_path)) == expected
    assert not list(tmp_path.iterdir())


def test_threads_loaded_into_files_are_those_loaded_into_memory(stages, monkeypatch):
    expected = load_threads.load_threads(stages["clusters"], PARAMS)
    monkeypatch.setattr(load_threads, "BATCH_THREADS", 100)
    threads = load_large(stages["clusters"], PARAMS)
    assert threads.records.items.tolist() == expected.records.items.tolist()
    assert threads.records.offsets.tolist() == expected.records.offsets.tolist()
    assert threads.records.users.tolist() == expected.records.users.tolist()
    assert threads.users.to_pylist() == expected.users
    assert threads.keywords.vocabulary.to_pylist() == expected.keywords.vocabulary
    assert threads.keywords.owners.tolist() == expected.keywords.owners.tolist()
    assert {column.dtype for column in (threads.records.items, threads.records.users)} == {
        np.dtype(np.int32)
    }


@pytest.mark.slow
def test_releases_in_places_are_anonymous_and_do_not_depend_on_processes(
    stages, tmp_path, monkeypatch
):
    _, whole = released(stages, tmp_path / "whole")
    monkeypatch.setattr(plan, "PLACE", 300)
    monkeypatch.setattr(process_pool, "MIN_THREADS", 0)
    stages = in_places(stages)
    digest, cost = released(stages, tmp_path / "one")
    with process_pool.use_processes(2, len(stages["clusters"])):
        assert released(stages, tmp_path / "two") == (digest, cost)

    rounds = cost["round"].to_pylist()
    assert "group_places" in rounds
    assert "group_places" not in whole["round"].to_pylist()
    retained, most = (table["retained"].to_pylist()[-1] for table in (cost, whole))
    assert most - 0.05 < retained
    total = cost.to_pylist()[-1]
    assert total["lower_bound"] <= total["additions"] + total["deletions"]
