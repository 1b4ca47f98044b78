"""A small log with a known answer, and runs of its release in this process."""

from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from dagster._serdes import serialize_value  # what Dagster stores is what may tell
from pyarrow import parquet

from setanon_dagster.assets import build_setanon_assets, storage_key
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.io_manager import DuckDBParquetStorage
from setanon_dagster.sources.source import Source

K = 3
STAGES = (
    "raw_log", "rejected_rows", "threads", "clusters", "anonymized_threads", "ledger",
    "cost_report", "release",
)  # fmt: skip
ROWS = [
    ("ann", "2006-03-01 08:00:00", "pine straw"),
    ("bob", "2006-03-01 08:01:00", "pine straw"),
    ("cem", "2006-03-01 08:02:00", "pine straw mulch"),
    ("ann", "2006-03-01 09:00:00", "garden hose"),
    ("bob", "2006-03-01 09:01:00", "garden hose"),
    ("dan", "2006-03-01 09:02:00", "hose garden"),
    ("dan", "2006-03-02 10:00:00", "copper kettle"),
    ("eve", "2006-03-02 10:01:00", "copper kettle"),
    ("fay", "2006-03-02 10:02:00", "copper kettle"),
    ("gil", "2006-03-02 10:03:00", "xylotrope"),
    ("hal", "yesterday", "pine straw"),
    ("", "2006-03-02 11:00:00", "pine straw"),
]
"""Three users look for each of three things, one of them for mulch too; one user is alone."""

DAYS = {"partition": "day", "start": "2006-03-01"}


def write_log(path, rows):
    lines = ["user\ttime\tquery", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def asked(folder, rows=ROWS, **knobs):
    """The release of the log `log.tsv` of a folder, which is written first if there are rows."""
    if rows is not None:
        write_log(folder / "log.tsv", rows)
    given = {"name": "trial", "source": Source(str(folder / "log.tsv")), "k": K}
    return ReleaseConfig(**(given | {"out": str(folder / "out")} | knobs))


@dataclass
class Ran:
    """What came of a run."""

    success: bool
    told: str
    """All that Dagster has recorded of it."""

    metadata: dict = field(default_factory=dict)
    checks: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    retries: int = 0


def recorded(result, instance):
    entries = instance.all_logs(result.run_id)
    events = [entry.dagster_event for entry in entries if entry.is_dagster_event]
    made = result.get_asset_materialization_events()
    return Ran(
        result.success,
        "\n".join(serialize_value(entry) + str(entry) for entry in entries),
        {
            event.asset_key.path[-1]: {
                name: value.value for name, value in event.materialization.metadata.items()
            }
            for event in made
        },
        {check.check_name: check.passed for check in result.get_asset_check_evaluations()},
        [str(event.event_specific_data) for event in events if event.is_step_failure],
        sum(event.is_step_restarted for event in events),
    )


def run(config, *, partition=None, translator=None, instance=None):
    """The release job as it is defined, with its checks."""
    defs = build_setanon_definitions(config, translator)
    return run_job(defs.resolve_job_def(f"{config.name}_release_job"), partition, instance)


def run_job(job, partition=None, instance=None):
    with dg.DagsterInstance.ephemeral() as own:
        place = instance or own
        result = job.execute_in_process(
            instance=place, raise_on_error=False, partition_key=partition
        )
        return recorded(result, place)


def storage(config):
    return DuckDBParquetStorage(folder=str(config.stages))


def make(config, *stages, also=(), partition=None, resources=None, instance=None):
    """The assets of these stages, or all, without any check but those brought along."""
    assets = build_setanon_assets(config)
    keys = [dg.AssetKey([config.name, stage]) for stage in stages]
    checks = [each for each in also if isinstance(each, dg.AssetChecksDefinition)]
    chosen = dg.AssetSelection.assets(*keys) if stages else dg.AssetSelection.all()
    with dg.DagsterInstance.ephemeral() as own:
        place = instance or own
        result = dg.materialize(
            [*assets, *also],
            selection=chosen | dg.AssetSelection.checks(*checks) if checks else chosen,
            resources={storage_key(config): storage(config), **(resources or {})},
            partition_key=partition,
            instance=place,
            raise_on_error=False,
        )
        return recorded(result, place)


def path_of(config, stage, partition=None):
    return storage(config).path(dg.AssetKey([config.name, stage]), partition)


def table_of(config, stage, partition=None):
    return parquet.read_table(path_of(config, stage, partition))


def spoil(config, stage, change):
    path = path_of(config, stage)
    parquet.write_table(change(parquet.read_table(path)), path)


def releases(config):
    return Path(config.out) / "releases"


def latest(config):
    link = releases(config) / "latest"
    return str(link.readlink()) if link.is_symlink() else None


def published(config):
    """The rows of the latest release."""
    return parquet.read_table(releases(config) / "latest" / "threads.parquet")


def public_files(config):
    """Everything public, with its bytes."""
    root = releases(config)
    return {
        str(path.relative_to(root)): path.is_file() and path.read_bytes()
        for path in root.rglob("*")
    }


SETS = sorted([["copper", "kettle"], ["garden", "hose"], ["pine", "straw"]] * 3)


def sets_of(table):
    if "keywords" in table.column_names:
        return sorted(table["keywords"].to_pylist())
    return sorted(sorted(query.split()) for query in table["query"].to_pylist())
