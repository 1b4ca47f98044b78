"""An engine that passes incomplete groups and does not count them: the gate refuses its stages."""

from collections import defaultdict
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import SECRET, publish_log

from setanon_core.errors import NotAnonymousError
from setanon_core.params import ReleaseParams
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_stream
from setanon_dagster.stages.threads import threads_stream
from setanon_dagster.storage.batches import reader_of_tables

K = 3
PARAMS = ReleaseParams(K, secret=SECRET)
USERS = ("ann", "bob", "cem", "dan")
QUERIES = ("pine straw", "pine straw mulch", "copper kettle", "copper kettles")
START = datetime(2006, 3, 1)  # noqa: DTZ001 - times of a log have no zone
LOG = pa.table(
    {
        "user": [user for user in USERS for _ in QUERIES],
        "time": [START + timedelta(minutes=n) for n in range(16)],
        "query": list(QUERIES * len(USERS)),
        "line": range(1, 17),
    }
)
"""Each user has two threads of two queries."""

CUTS = {
    "complete": ((0, 16),),
    "cut": ((0, 5), (5, 16)),
    "lost": ((0, 4), (5, 16)),
}
"""The rows of each call of the function, sorted by key: the first and the one behind the last."""


class NotCountingEngine(EmbeddedEngine):
    """Passes the rows of `cuts` to the function, one pair per call, and checks no count."""

    cuts = CUTS["complete"]

    def group_map(self, relation, key, order, function, schema, **_):
        rows = relation.order(f"{key}, {order}").to_arrow_table()
        calls = (rows.slice(start, end - start) for start, end in self.cuts)
        return reader_of_tables(schema, map(function, calls))


def stages_of(folder, stage, fault):
    """Write all stages by an engine with a fault in one of them; return the paths by name."""
    with NotCountingEngine(folder / "engine") as engine:
        tables = {"raw_log": LOG}
        for name, stream in (("threads", threads_stream), ("clusters", clusters_stream)):
            engine.cuts = CUTS[fault if name == stage else "complete"]
            source = engine.sql("FROM source", source=list(tables.values())[-1])
            tables[name] = stream(engine, source, PARAMS).read_all()
    result = anonymize_clusters(tables["clusters"], PARAMS)
    tables["anonymized_threads"] = result.threads.read_all()
    tables["ledger"] = result.ledger.read_all()
    tables["cost_report"] = result.cost()
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        parquet.write_table(table, paths[name])
    return paths


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("cut", "each thread must have queries, and be listed once; 1 differ"),
        ("lost", "each thread must have the keywords of its queries in order; 1 have"),
    ],
)
def test_gate_refuses_incomplete_groups_that_no_engine_counted(tmp_path, fault, sentence):
    paths = stages_of(tmp_path, "clusters", fault)
    with pytest.raises(NotAnonymousError, match=sentence) as refused:
        publish_log(paths, tmp_path / "out")
    assert not any(word in str(refused.value) for word in (*USERS, "pine", "kettle"))
    assert list((tmp_path / "out" / "releases").iterdir()) == []


@pytest.mark.parametrize(("fault", "threads"), [("complete", 8), ("cut", 9)])
def test_cut_sessions_change_threads_but_at_least_k_users_share_each_list(tmp_path, fault, threads):
    """The gate accepts other threads of the same users: it counts users, not threads."""
    published = publish_log(stages_of(tmp_path, "threads", fault), tmp_path / "out")
    ledger = parquet.read_table(published.private / "ledger.parquet").to_pylist()
    user_of = {row["thread_id"]: row["user"] for row in ledger}
    lists = defaultdict(list)
    for row in parquet.read_table(published.folder / "threads.parquet").to_pylist():
        lists[row["thread_id"]].append(row["query"])
    users = defaultdict(set)
    for thread, queries in lists.items():
        users[tuple(queries)].add(user_of[thread])
    assert len(lists) == threads
    assert all(len(each) >= K for each in users.values())
