"""A release whose threads are grouped place by place: published, and equal for all processes."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core.params import ReleaseParams
from setanon_core.partition import plan
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.engines import process_pool
from setanon_dagster.gate.publish import ReleaseSpec, StageFiles, publish
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_table
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


@pytest.mark.slow
def test_releases_in_places_are_anonymous_and_do_not_depend_on_processes(
    stages, tmp_path, monkeypatch
):
    _, whole = released(stages, tmp_path / "whole")
    monkeypatch.setattr(plan, "PLACE", 300)
    monkeypatch.setattr(process_pool, "MIN_THREADS", 0)
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
