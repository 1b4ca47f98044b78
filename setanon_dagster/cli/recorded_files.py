"""Record the files of an output folder as materializations, so that the Dagster UI shows them.

`setanon release` keeps no run history. Recorded are numbers and paths: rows and bytes of each
stage, and the counts of each certificate.
"""

import json
from pathlib import Path
from typing import Any, Final

import dagster as dg
from pyarrow.parquet import read_metadata

from setanon_dagster import metadata_keys as keys
from setanon_dagster.assets import PUBLISHED
from setanon_dagster.checks import data_docs_folder
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.gate.series import DIGITS
from setanon_dagster.io_manager import UNPARTITIONED, DuckDBParquetStorage
from setanon_dagster.report.build import REPORT
from setanon_dagster.report.wording import round_factor
from setanon_dagster.storage.folders import PUBLIC
from setanon_dagster.translator import asset_specs
from setanon_dagster.verifier.release_folder import CERTIFICATE, LATEST, THREADS
from setanon_dagster.verifier.release_series import published_releases

RELEASE: Final = "release"
COSTS: Final = ("additions", "deletions", "withdrawals", "respellings", "lower_bound", "retained")
COUNTS: Final = {keys.THREADS: "records", keys.GROUPS: "groups", keys.VIOLATIONS: "violations"}
MOST_RECORDS: Final = 1000
"""Records of an asset that are compared with its files."""


def record_files(instance: dg.DagsterInstance, config: ReleaseConfig) -> None:
    """Record the stages that are newer than their last record, and the releases without one."""
    specs = asset_specs(config)
    storage = DuckDBParquetStorage(folder=str(config.stages))
    for stage in sorted(specs.keys() - {RELEASE}):
        for file in storage.path(specs[stage].key).parent.glob("*.parquet"):
            partition = None if file.stem == UNPARTITIONED else file.stem
            key = specs[stage].key
            if _is_current(config, partition) and _is_newer(instance, key, partition, file):
                _record(instance, key, partition, _stored(file))
    _record_releases(instance, config, specs[RELEASE].key)


def _record_releases(instance: dg.DagsterInstance, config: ReleaseConfig, key: dg.AssetKey) -> None:
    """Record published releases in the order of publication, and the latest one at the end."""
    records = instance.fetch_materializations(key, limit=MOST_RECORDS).records
    events = (record.asset_materialization for record in records)
    recorded = [
        event.metadata[keys.RELEASE].value
        for event in events
        if event is not None and keys.RELEASE in event.metadata
    ]
    link = config.folder / PUBLIC / config.name / LATEST
    latest = link.resolve().name if config.partition is None else ""
    folders = published_releases(config.folder, config.name)
    for folder in sorted(
        folders, key=lambda each: (each.name == latest, _modified(each / THREADS))
    ):
        partition = folder.name[len(config.name) + 1 : -DIGITS - 1] or None
        # Dagster shows the last record: a release can be the latest one again.
        is_last = folder.name != latest or recorded[:1] == [latest]
        if _is_current(config, partition) and not (folder.name in recorded and is_last):
            _record(instance, key, partition, _released(config, folder, partition))


def _is_current(config: ReleaseConfig, partition: str | None) -> bool:
    """Whether a file is one of a release with, or without, partitions: that may have changed."""
    return (partition is None) == (config.partition is None)


def _is_newer(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None, file: Path
) -> bool:
    """Whether a file was written after the last record of its asset and partition."""
    partitions = None if partition is None else [partition]
    selected = dg.AssetRecordsFilter(asset_key=key, asset_partitions=partitions)
    records = instance.fetch_materializations(selected, limit=1).records
    return not records or records[0].timestamp < _modified(file)


def _modified(file: Path) -> float:
    return file.stat().st_mtime


def _record(
    instance: dg.DagsterInstance, key: dg.AssetKey, partition: str | None, found: dict[str, Any]
) -> None:
    instance.report_runless_asset_event(
        dg.AssetMaterialization(key, partition=partition, metadata=found)
    )


def _stored(file: Path) -> dict[str, Any]:
    """Metadata of the file of a stage, as the IO manager gives them."""
    return {
        "dagster/row_count": read_metadata(file).num_rows,
        "dagster/uri": str(file),
        keys.BYTES: file.stat().st_size,
    }


def _released(config: ReleaseConfig, folder: Path, partition: str | None) -> dict[str, Any]:
    """Metadata of a published release, from its exact certificate, or its public one."""
    private = config.private / folder.name
    exact = private / CERTIFICATE
    certificate = json.loads((exact if exact.is_file() else folder / CERTIFICATE).read_bytes())
    cost, verdict = certificate["cost"], certificate["verdict"]
    pages = {
        keys.REPORT: private / REPORT,
        keys.DATA_DOCS: data_docs_folder(config.data_docs, partition) / "index.html",
    }
    factor = {} if cost["factor"] is None else {keys.FACTOR: round_factor(cost["factor"])}
    return {
        keys.STATE: PUBLISHED,
        keys.FOLDER: dg.MetadataValue.path(folder),
        keys.RELEASE: folder.name,
        keys.SHA256: certificate["sha256"][THREADS],
        "dagster/row_count": read_metadata(folder / THREADS).num_rows,
        **{f"{keys.PREFIX}{name}": cost[name] for name in COSTS},
        **{key: verdict[name] for key, name in COUNTS.items()},
        **factor,
        **{key: dg.MetadataValue.path(page) for key, page in pages.items() if page.is_file()},
    }
