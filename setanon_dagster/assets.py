"""The pipeline as Dagster assets: one for each stage, made for each release by a factory."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import dagster as dg
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster import metadata_keys as keys
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.engines.process_pool import use_processes
from setanon_dagster.gate.publish import Published, ReleaseSpec, StageFiles, publish
from setanon_dagster.io_manager import StoredFile
from setanon_dagster.making import engine_of, stored_by, window_of
from setanon_dagster.redaction import redact_errors
from setanon_dagster.report.build import write_release_report
from setanon_dagster.report.metadata import release_metadata
from setanon_dagster.runtime.progress_log import ProgressLogger
from setanon_dagster.sources.loading import ReadResult, Window
from setanon_dagster.sources.read import read_source
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import basket_clusters_table, cluster_counts, clusters_stream
from setanon_dagster.stages.threads import threads_stream
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import write_parquet
from setanon_dagster.translator import SetanonTranslator, asset_specs

RETRIES: Final = dg.RetryPolicy(max_retries=2, delay=5)
"""For reading: a source may be out of reach for a moment. A refused release is never retried."""

Specs = Mapping[str, dg.AssetSpec]


def build_setanon_assets(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> list[dg.AssetsDefinition]:
    """All assets of one release, from its source to the published files."""
    specs = asset_specs(config, translator)
    made = [_read(config, specs), _clusters(config, specs), _anonymized(config, specs)]
    if "threads" in specs:
        made.insert(1, _threads(config, specs))
    return [*made, _release(config, specs)]


def storage_key(config: ReleaseConfig) -> str:
    """The resource that keeps this release's assets."""
    return f"{config.name}_storage"


def first_stage(specs: Specs) -> str:
    """What the source becomes: a log, or baskets."""
    return "raw_log" if "raw_log" in specs else "raw_baskets"


def _outs(config: ReleaseConfig, specs: Specs, *names: str) -> dict[str, dg.AssetOut]:
    key = storage_key(config)
    return {name: dg.AssetOut.from_spec(specs[name], io_manager_key=key) for name in names}


def _read(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    first = first_stage(specs)
    upstream = None if config.upstream is None else dg.AssetKey.from_user_string(config.upstream)

    @dg.multi_asset(
        name=f"{config.name}__{first}",
        # Of any type: whoever keeps the asset decides what it is loaded as.
        ins={} if upstream is None else {"upstream": dg.AssetIn(upstream, dagster_type=dg.Any)},
        outs=_outs(config, specs, first, "rejected_rows"),
        partitions_def=specs[first].partitions_def,
        retry_policy=RETRIES,
    )
    def read(context: dg.AssetExecutionContext, **upstream: object) -> Iterator[dg.Output[Any]]:
        # It holds the rows until they are stored, and not while the other stages run.
        with connect(config.memory_limit, temp_folder=config.stages) as connection:
            with redact_errors(retry=True), listen_to_progress(ProgressLogger(context.log.info)):
                found = _found(config, window_of(context), connection, **upstream)
            said = {
                keys.LINES: found.lines,
                keys.ACCEPTED: found.accepted_lines,
                keys.OUTSIDE: found.outside_window,
            }
            yield dg.Output(found.accepted, first, metadata=said)
            reasons = {
                f"{keys.REJECTED}{reason}": n for reason, n in found.rejected_by_reason.items()
            }
            yield dg.Output(found.rejected, "rejected_rows", metadata=reasons)

    return read


def _found(
    config: ReleaseConfig,
    window: Window | None,
    connection: DuckDBPyConnection,
    upstream: object = None,
) -> ReadResult:
    """Read the source, or the table of an upstream asset as if it were a file."""
    if upstream is None:
        return read_source(config.source, window, connection=connection)
    # Private, as all that lies between source and release.
    with TemporaryDirectory(dir=private_folder(config.stages)) as folder:
        path = Path(folder) / "upstream.parquet"
        write_parquet(upstream, path)
        source = replace(config.source, uri=str(path), table=None)
        return read_source(source, window, connection=connection)


def _threads(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=f"{config.name}__threads",
        ins={"raw_log": dg.AssetIn(specs["raw_log"].key)},
        outs=_outs(config, specs, "threads"),
        partitions_def=specs["threads"].partitions_def,
    )
    def threads(
        context: dg.AssetExecutionContext, raw_log: DuckDBPyRelation
    ) -> Iterator[dg.Output[StoredFile]]:
        with engine_of(config, context.log.info) as engine:
            with redact_errors():
                made = stored_by(engine, threads_stream(engine, raw_log, config.params()))
                counted = engine.read(str(made.path)).aggregate(
                    'count(DISTINCT "user"), coalesce(max(thread) + 1, 0)'
                )
                ((users, found),) = counted.fetchall()
            said = {
                keys.USERS: users,
                keys.THREADS: found,
                keys.QUERIES_PER_THREAD: made.rows / max(found, 1),
            }
            yield dg.Output(made, "threads", metadata=said)

    return threads


def _clusters(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    before = "threads" if "threads" in specs else "raw_baskets"

    @dg.multi_asset(
        name=f"{config.name}__clusters",
        ins={"before": dg.AssetIn(specs[before].key)},
        outs=_outs(config, specs, "clusters"),
        partitions_def=specs["clusters"].partitions_def,
    )
    def clusters(
        context: dg.AssetExecutionContext, before: DuckDBPyRelation
    ) -> Iterator[dg.Output[StoredFile]]:
        with engine_of(config, context.log.info) as engine:
            with redact_errors():
                params = config.params()
                made = stored_by(
                    engine,
                    clusters_stream(engine, before, params)
                    if "threads" in specs
                    else basket_clusters_table(before.to_arrow_table()),
                )
                counts = cluster_counts(engine.read(str(made.path)), params.p)
            yield dg.Output(made, "clusters", metadata=counts)

    return clusters


def _anonymized(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    made = ("anonymized_threads", "ledger", "cost_report")

    @dg.multi_asset(
        name=f"{config.name}__anonymized_threads",
        ins={"clusters": dg.AssetIn(specs["clusters"].key)},
        outs=_outs(config, specs, *made),
        partitions_def=specs["anonymized_threads"].partitions_def,
        internal_asset_deps={
            "anonymized_threads": {specs["clusters"].key},
            "ledger": {specs["clusters"].key},
            "cost_report": {specs["clusters"].key, specs["anonymized_threads"].key},
        },
    )
    def anonymized_threads(
        context: dg.AssetExecutionContext, clusters: DuckDBPyRelation
    ) -> Iterator[dg.Output[StoredFile | pa.Table]]:
        with engine_of(config, context.log.info) as engine:
            with redact_errors(), use_processes(config.workers, len(clusters)):
                found = anonymize_clusters(clusters, config.params(), engine.folder)
            with redact_errors():
                threads, ledger = stored_by(engine, found.threads), stored_by(engine, found.ledger)
            for remark in found.warnings:
                context.log.warning(remark)
            total = found.cost.slice(len(found.cost) - 1).to_pylist()[0]
            yield dg.Output(
                threads,
                "anonymized_threads",
                metadata={
                    keys.THREADS: found.published,
                    keys.GROUPS: found.groups,
                    keys.SMALLEST_GROUP: found.smallest_group,
                    keys.WITHDRAWALS: total["withdrawals"],
                },
            )
            yield dg.Output(ledger, "ledger", metadata={keys.THREADS: found.published})
            yield dg.Output(
                found.cost,
                "cost_report",
                metadata={
                    f"{keys.PREFIX}{name}": total[name]
                    for name in ("additions", "deletions", "respellings", "retained", "factor")
                    if isfinite(total[name])  # the UI knows no infinity
                },
            )

    return anonymized_threads


def _release(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    used = ("anonymized_threads", "ledger", "cost_report", "clusters", "rejected_rows")

    @dg.multi_asset(
        name=f"{config.name}__release",
        ins={name: dg.AssetIn(specs[name].key, dagster_type=Path) for name in used},
        # The gate has written the files: there is nothing to store.
        outs={"release": dg.AssetOut.from_spec(specs["release"], dagster_type=dg.Nothing)},
        partitions_def=specs["release"].partitions_def,
        required_resource_keys={storage_key(config)} if config.report == "full" else None,
    )
    def release(context: dg.AssetExecutionContext, **files: Path) -> dg.Output[None]:
        part = f"-{context.partition_key}" if context.has_partition_key else ""
        # Whatever was or was not checked before: the very file is verified, here and now.
        with redact_errors():
            published = publish(
                StageFiles(**files),
                ReleaseSpec(
                    name=f"{config.name}{part}",
                    k=config.k,
                    min_owners=config.min_owners,
                    format=config.format,
                    parameters=config.certified_parameters(),
                ),
                config.folder,
                memory=config.memory_limit,
            )
        return dg.Output(
            None,
            metadata={
                **_reported(config, specs, published, files, context),
                keys.RELEASE: published.name,
                keys.FOLDER: dg.MetadataValue.path(published.folder),
                keys.SHA256: published.digest,
                "dagster/row_count": published.verdict.records,
            },
        )

    return release


def _raw_file(
    config: ReleaseConfig, specs: Specs, context: dg.AssetExecutionContext
) -> dict[str, Path]:
    """Stored file of the first stage, for a full report; by stage name.

    Not an input of the asset: a release depends only on what was checked.
    """
    if config.report != "full":
        return {}
    first = first_stage(specs)
    partition = context.partition_key if context.has_partition_key else None
    storage = getattr(context.resources, storage_key(config))
    return {first: storage.path(specs[first].key, partition)}


def _reported(
    config: ReleaseConfig,
    specs: Specs,
    published: Published,
    files: Mapping[str, Path],
    context: dg.AssetExecutionContext,
) -> dict[str, Any]:
    """Write the report, and tell what it says; a release that is out does not fail for a page."""
    try:
        raw = _raw_file(config, specs, context)
        report, page = write_release_report(config, published, {**files, **raw})
        part = context.partition_key if context.has_partition_key else "all"
        docs = config.folder / "private" / "data_docs" / config.name / part / "index.html"
        return release_metadata(report, page, docs)
    except Exception as error:  # noqa: BLE001 - whatever it is, the release is published
        # Neither its text nor its traceback: they may hold data.
        context.log.error("The report could not be written: %s.", type(error).__name__)  # noqa: TRY400
        verdict = published.verdict
        return {
            keys.GROUPS: verdict.groups,
            keys.SMALLEST_GROUP: verdict.smallest_group,
            keys.VIOLATIONS: verdict.violations,
        }
