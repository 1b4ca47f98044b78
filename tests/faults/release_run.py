"""A release of a small synthetic log by calls of the stages, in the order of the Dagster job.

Without Dagster, a run takes a fraction of a second, so that hundreds of runs can be killed.
"""

import mmap
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from support.signing import public_keys, signer

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.demo.events import event_rows
from setanon_dagster.demo.log import write_demo_log
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import ReleaseSpec, StageFiles
from setanon_dagster.quality.stage_counts import count_clusters, count_threads
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.build import write_release_report
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source import Source
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import clusters_stream
from setanon_dagster.stages.threads import threads_stream
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import write_parquet
from setanon_dagster.storage.temporary import remove_all_leftovers

SECRET = b"made up for fault injection"
STEPS = ("read", "threads", "clusters", "anonymize", "checks", "publish", "report", "end")
K = 3

step_now = mmap.mmap(-1, 1)
"""Number of the step that a forked child executes; shared with its parent."""


def write_logs(folder, users=80):
    """Write two different logs; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    logs = [folder / f"log{seed}.tsv" for seed in (1, 2)]
    for seed, log in enumerate(logs, 1):
        write_demo_log(log, users, seed=seed, rows_of=event_rows)
    return logs


def config_of(log, out, **parameters):
    """A release with attributes: all that can fail without them is part of it."""
    chosen = {"attributes": ("week", "host:click")} | parameters
    return ReleaseConfig(name="trial", source=Source(str(log)), k=K, out=str(out), **chosen)


@contextmanager
def without_figures():
    """Write reports with tables only: figures take longer than all stages of a small log."""
    loaded = sys.modules.get("matplotlib")
    sys.modules["matplotlib"] = None
    try:
        yield
    finally:
        del sys.modules["matplotlib"]
        if loaded is not None:
            sys.modules["matplotlib"] = loaded


def run_release(config, min_parallel_rows=1_000_000, duckdb_memory=None):
    """Run all stages, two checks, the gate and the report."""
    memory = duckdb_memory or config.memory.duckdb
    files = {}
    params = config.params(SECRET)

    def begin(step):
        step_now[0] = STEPS.index(step)
        remove_all_leftovers(config.folder)

    def path_of(stage):
        files[stage] = config.stages / config.name / stage / "all.parquet"
        private_folder(files[stage].parent)
        return files[stage]

    def open_engine():
        return EmbeddedEngine(
            config.stages,
            workers=config.workers,
            memory_limit=memory,
            min_parallel_rows=min_parallel_rows,
        )

    def store(engine, rows, stage):
        path, _ = engine.write_temporary(rows)
        path.replace(path_of(stage))

    begin("read")
    with connect(memory, temp_folder=config.stages) as connection:
        read = read_source(config.source, connection=connection, attributes=config.attributes)
        write_parquet(read.accepted, path_of("raw_log"), connection=connection)
        write_parquet(read.rejected, path_of("rejected_rows"), connection=connection)
    begin("threads")
    with open_engine() as engine:
        raw = engine.read(str(files["raw_log"]))
        store(engine, threads_stream(engine, raw, params), "threads")
    begin("clusters")
    with open_engine() as engine:
        threads = engine.read(str(files["threads"]))
        store(engine, clusters_stream(engine, threads, params), "clusters")
    begin("anonymize")
    with open_engine() as engine:
        clusters = engine.read(str(files["clusters"]))
        result = anonymize_clusters(clusters, params, engine.folder)
        store(engine, result.threads, "anonymized_threads")
        store(engine, result.ledger, "ledger")
        write_parquet(result.cost(), path_of("cost_report"), connection=engine.connection)
    begin("checks")
    for stage, count in (("threads", count_threads), ("clusters", count_clusters)):
        checked = {stage: files[stage], "raw_log": files["raw_log"]}
        with open_stages(checked, memory=memory, spill=config.stages) as connection:
            count(connection)
    begin("publish")
    stages = {name: files[name] for name in StageFiles.__dataclass_fields__ if name in files}
    published = publish(
        StageFiles(**stages),
        ReleaseSpec(
            name=config.name,
            k=config.k,
            format=config.format,
            attributes=config.attribute_names,
            parameters=config.certified_parameters(),
            signing_key=signer(),
            secret=SECRET,
        ),
        config.folder,
        memory=memory,
    )
    begin("report")
    with without_figures():
        write_release_report(config, published, files)
    begin("end")
    return published.name


def latest_name(out):
    """The release that `latest` links to, or None."""
    links = list(Path(out).glob("releases/*/latest"))
    return str(links[0].readlink()) if links else None


def faults_of_latest(out, expected):
    """Reasons why `latest` is not one of the expected releases, complete and verified."""
    from setanon_dagster.verifier.release_folder import verify_folder

    name = latest_name(out)
    if name not in expected:
        return [f"latest is {name}"]
    if name is None:
        return []
    [folder] = Path(out).glob(f"releases/*/{name}")
    private = Path(out) / "private" / name
    verdict = verify_folder(folder, K, private=private, keys=public_keys())
    return [f"latest is not verified: {each}" for each in verdict.failures]


def names_below(*folders):
    """Relative paths of everything below the folders, hidden files included."""
    return {
        os.path.relpath(Path(parent) / name, folder)
        for folder in folders
        for parent, children, files in os.walk(folder)
        for name in (*children, *files)
    }
