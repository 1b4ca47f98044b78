"""All stages of a small log as Parquet files, for tests that change one and publish them."""

from datetime import datetime, timedelta

import pyarrow as pa
from pyarrow import parquet

from setanon_core.params import ReleaseParams
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_table
from setanon_dagster.stages.threads import threads_table

SECRET = b"a secret of the tests"
START = datetime(2006, 3, 1)  # noqa: DTZ001 - times of a log have no zone
QUERIES = ("pine straw", "Garden Hose", "copper kettle!", "wi-fi café")


def log_stages(folder, users=("ann", "bob", "cem", "dan"), k=3, form="queries"):
    """Stages of a log in which each user types each query; return the paths by stage name."""
    rows = [(user, query) for user in users for query in QUERIES]
    raw = pa.table(
        {
            "user": [user for user, _ in rows],
            "time": [START + timedelta(days=n) for n in range(len(rows))],
            "query": [query for _, query in rows],
            "line": list(range(1, len(rows) + 1)),
        }
    )
    params = ReleaseParams(k=k, format=form, secret=SECRET)
    threads = threads_table(raw, params)
    clusters = clusters_table(threads, params)
    result = anonymize_clusters(clusters, params)
    published = result.threads.read_all()
    tables = {
        "raw_log": raw,
        "threads": threads,
        "clusters": clusters,
        "anonymized_threads": published,
        "ledger": result.ledger.read_all(),
        "cost_report": result.cost(),
    }
    folder.mkdir(exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        parquet.write_table(table, paths[name])
    return paths


def publish_log(paths, out, k=3, form="queries", **changed):
    spec = {"name": "log", "k": k, "format": form, "secret": SECRET} | changed
    return publish(StageFiles(**paths), ReleaseSpec(**spec), out)


def change_column(paths, stage, column, change):
    """Replace a column of a stage by what a function returns for its values."""
    table = parquet.read_table(paths[stage])
    values = pa.array(change(table[column].to_pylist()), table[column].type)
    index = table.column_names.index(column)
    parquet.write_table(table.set_column(index, column, values), paths[stage])
