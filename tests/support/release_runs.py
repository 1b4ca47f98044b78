"""A small log with a known result, and in-process Dagster runs of its release."""

from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
from dagster._serdes import serialize_value  # what Dagster stores must not contain data
from pyarrow import parquet

from setanon_dagster.assets import build_setanon_assets, storage_key
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.io_manager import DuckDBParquetStorage
from setanon_dagster.sources.source import Source
from setanon_dagster.translator import asset_specs

K = 3
STAGES = (
    "raw_log", "rejected_rows", "threads", "clusters", "anonymized_threads", "ledger",
    "cost_report", "release",
)  # fmt: skip
READ_STAGES = ("raw_log", "rejected_rows")
ANONYMIZE_STAGES = ("anonymized_threads", "ledger", "cost_report")

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
"""Three topics of three users each (one adds "mulch"), one query of a single user, two bad rows."""

EXPECTED_SETS = sorted([["copper", "kettle"], ["garden", "hose"], ["pine", "straw"]] * 3)
"""The keyword set of each published thread."""

DAYS = {"partition": "day", "start": "2006-03-01"}


def write_log(path, rows):
    lines = ["user\ttime\tquery", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def release_config(folder, rows=ROWS, **parameters):
    """Config of a release of `log.tsv` in a folder; the log is written first if rows are given."""
    if rows is not None:
        write_log(folder / "log.tsv", rows)
    defaults = {
        "name": "trial",
        "source": Source(str(folder / "log.tsv"), max_rejected=1),
        "k": K,
        "out": str(folder / "out"),
    }
    return ReleaseConfig(**(defaults | parameters))


@dataclass
class RunResult:
    success: bool
    events: str
    """All events of the run as Dagster stores and prints them."""

    metadata: dict = field(default_factory=dict)
    """Metadata of the materializations, by the last part of the asset key."""

    checks: dict = field(default_factory=dict)
    failures: list = field(default_factory=list)
    retries: int = 0


def collect_result(result, instance):
    entries = instance.all_logs(result.run_id)
    events = [entry.dagster_event for entry in entries if entry.is_dagster_event]
    return RunResult(
        result.success,
        "\n".join(serialize_value(entry) + str(entry) for entry in entries),
        {
            event.asset_key.path[-1]: {
                name: value.value for name, value in event.materialization.metadata.items()
            }
            for event in result.get_asset_materialization_events()
        },
        {check.check_name: check.passed for check in result.get_asset_check_evaluations()},
        [str(event.event_specific_data) for event in events if event.is_step_failure],
        sum(event.is_step_restarted for event in events),
    )


def run_release(config, *, partition=None, translator=None, instance=None):
    """Run the release job, including its checks."""
    definitions = build_setanon_definitions(config, translator)
    return run_job(definitions.resolve_job_def(f"{config.name}_release_job"), partition, instance)


def run_job(job, partition=None, instance=None):
    with dg.DagsterInstance.ephemeral() as ephemeral:
        used = instance or ephemeral
        result = job.execute_in_process(
            instance=used, raise_on_error=False, partition_key=partition
        )
        return collect_result(result, used)


def storage(config):
    return DuckDBParquetStorage(folder=str(config.stages))


def materialize(  # noqa: PLR0913 - options of one run
    config, *stages, also=(), partition=None, resources=None, instance=None, translator=None
):
    """Materialize these stages (or other asset keys), or all, without checks except in `also`."""
    assets = build_setanon_assets(config, translator)
    specs = asset_specs(config, translator)
    checks = [each for each in also if isinstance(each, dg.AssetChecksDefinition)]
    selection = dg.AssetSelection.all()
    if stages:
        selection = dg.AssetSelection.assets(
            *(specs[stage].key if stage in specs else stage for stage in stages)
        )
    if checks:
        selection |= dg.AssetSelection.checks(*checks)
    with dg.DagsterInstance.ephemeral() as ephemeral:
        used = instance or ephemeral
        result = dg.materialize(
            [*assets, *also],
            selection=selection,
            resources={storage_key(config): storage(config), **(resources or {})},
            partition_key=partition,
            instance=used,
            raise_on_error=False,
        )
        return collect_result(result, used)


def stored_path(config, stage, partition=None):
    return storage(config).path(dg.AssetKey([config.name, stage]), partition)


def stored_table(config, stage, partition=None):
    return parquet.read_table(stored_path(config, stage, partition))


def modify_stage(config, stage, change):
    """Replace the stored table of a stage."""
    path = stored_path(config, stage)
    parquet.write_table(change(parquet.read_table(path)), path)


def releases_folder(config):
    return Path(config.out) / "releases" / config.name


def latest_release(config):
    """The name of the release that `latest` links to, or None."""
    link = releases_folder(config) / "latest"
    return str(link.readlink()) if link.is_symlink() else None


def published_table(config):
    """The rows of the latest release."""
    return parquet.read_table(releases_folder(config) / "latest" / "threads.parquet")


def public_files(config):
    """The contents of all public files, by path; False for a folder."""
    root = releases_folder(config)
    return {
        str(path.relative_to(root)): path.is_file() and path.read_bytes()
        for path in root.rglob("*")
    }


def keyword_sets(table):
    """The sorted keywords of each row, sorted."""
    if "keywords" in table.column_names:
        return sorted(table["keywords"].to_pylist())
    return sorted(sorted(query.split()) for query in table["query"].to_pylist())
