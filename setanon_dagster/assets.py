"""Dagster assets of one release: one asset per stage."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeVar

import dagster as dg
import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from pyarrow.parquet import read_metadata

from setanon_core.errors import InvalidParameterError
from setanon_core.runtime.progress import listen_to_progress
from setanon_dagster import metadata_keys as keys
from setanon_dagster.checks import data_docs_folder
from setanon_dagster.config import SECRET, ReleaseConfig, environment_secret
from setanon_dagster.engines.choose import (
    open_configured,
    open_embedded,
    use_configured_executor,
    use_executor_of,
)
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.executor import STEP_TAGS
from setanon_dagster.gate.assign_ids import KEY_FILE
from setanon_dagster.gate.publish import publish
from setanon_dagster.gate.release_spec import Published, ReleaseSpec, StageFiles
from setanon_dagster.gate.signing import signing_key
from setanon_dagster.io_manager import StoredFile
from setanon_dagster.pipes.submit import submit_stage
from setanon_dagster.redaction import redact_errors
from setanon_dagster.release_metadata import release_metadata
from setanon_dagster.report.build import write_release_report
from setanon_dagster.report.wording import round_factor
from setanon_dagster.runtime.memory import trim_memory
from setanon_dagster.runtime.progress_log import ProgressLogger
from setanon_dagster.sources.loading import ReadResult, Window
from setanon_dagster.sources.read import read_source
from setanon_dagster.sources.source_counts import write_rejected_rows
from setanon_dagster.stages.anonymize import anonymize_clusters
from setanon_dagster.stages.clusters import basket_clusters_table, cluster_counts, clusters_stream
from setanon_dagster.stages.place_clusters import needs_plan, place_clusters
from setanon_dagster.stages.threads import thread_counts, threads_stream
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet, write_parquet
from setanon_dagster.storage.temporary import remove_all_leftovers, temporary_folder
from setanon_dagster.stored_parameters import store_parameters
from setanon_dagster.translator import SetanonTranslator, asset_specs
from setanon_dagster.verifier.release_folder import THREADS

READ_RETRIES: Final = dg.RetryPolicy(max_retries=2, delay=5)
"""Reading is retried if the source is temporarily unavailable. A refused release is not."""

COST_COUNTS: Final = ("additions", "deletions", "respellings", "retained")
"""Columns of the cost report that are shown as metadata, beside the factor."""

PUBLISHED: Final = "published"
EMPTY: Final = "empty: nothing is left to publish of this partition"
"""States of a release: a quiet day, of which nothing can be published, is not an error."""

NO_SECRET: Final = (
    f"{SECRET} is not set: the key of the thread ids is a random one, kept in private/{KEY_FILE} "
    "of the output folder. Keep that file private: with another key, a release of the same data "
    "has other thread ids."
)

OpenedEngine = TypeVar("OpenedEngine", EmbeddedEngine, EmbeddedEngine | SparkEngine)

Specs = Mapping[str, dg.AssetSpec]
"""Asset specs by stage name."""


def build_setanon_assets(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> list[dg.AssetsDefinition]:
    """All assets of one release, from the source to the published files."""
    specs = asset_specs(config, translator)
    threads = [_threads_asset(config, specs)] if "threads" in specs else []
    return [
        _source_assets(config, specs),
        *threads,
        _clusters_asset(config, specs),
        _anonymized_assets(config, specs),
        _release_asset(config, specs),
    ]


def storage_key(config: ReleaseConfig) -> str:
    """Resource key of the IO manager for the assets of this release."""
    return f"{config.name}_storage"


def _raw_stage(specs: Specs) -> str:
    return "raw_log" if "raw_log" in specs else "raw_baskets"


def _stored_assets(
    config: ReleaseConfig,
    specs: Specs,
    *stages: str,
    **options: Any,  # noqa: ANN401 - options of multi_asset
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorator for the step that computes these stages and stores them by the IO manager."""
    key = storage_key(config)
    return dg.multi_asset(
        name=f"{config.name}__{stages[0]}",
        outs={stage: dg.AssetOut.from_spec(specs[stage], io_manager_key=key) for stage in stages},
        partitions_def=specs[stages[0]].partitions_def,
        op_tags=STEP_TAGS,
        **options,
    )


def _source_assets(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    raw = _raw_stage(specs)
    ins = {}
    if config.upstream is not None:
        key = dg.AssetKey.from_user_string(config.upstream)
        # Any type: the IO manager of the upstream asset decides what it loads.
        ins["upstream"] = dg.AssetIn(key, dagster_type=dg.Any)

    @_stored_assets(config, specs, raw, "rejected_rows", ins=ins, retry_policy=READ_RETRIES)
    def read(context: dg.AssetExecutionContext, **upstream: object) -> Iterator[dg.Output[Any]]:
        remove_all_leftovers(config.folder)
        with redact_errors():  # a key that the release cannot use is refused before the stages run
            signing_key(config.approval, config.signature)
        # The connection holds the rows in memory: it is closed as soon as they are stored.
        with connect(config.memory.duckdb, temp_folder=config.stages) as connection:
            with redact_errors(retry=True), listen_to_progress(ProgressLogger(context.log.info)):
                result = _read(config, _time_window(context), connection, **upstream)
                if _partition_key(context) is None:
                    _check_users(config.k, result.accepted)
            counts: dict[str, int | str] = {
                keys.LINES: result.lines,
                keys.ACCEPTED: result.accepted_lines,
                keys.OUTSIDE: result.outside_window,
                keys.ENCODINGS: ", ".join(result.encodings),
            }
            reasons = {
                f"{keys.REJECTED}{reason}": n for reason, n in result.rejected_by_reason.items()
            }
            yield dg.Output(result.accepted, raw, metadata=counts)
            with temporary_folder(private_folder(config.stages)) as folder:
                path = folder / "rejected_rows.parquet"
                rejected = StoredFile(path, write_rejected_rows(result, path, connection))
                yield dg.Output(rejected, "rejected_rows", metadata=reasons)

    return read


def _read(
    config: ReleaseConfig,
    window: Window | None,
    connection: DuckDBPyConnection,
    upstream: object = None,
) -> ReadResult:
    """Read the source; the table of an upstream asset is written to a file and read from there."""
    read = partial(
        read_source,
        window=window,
        connection=connection,
        user_names=config.user_names,
        timezone=config.timezone,
        attributes=config.attributes,
    )
    if upstream is None:
        return read(config.source)
    with temporary_folder(private_folder(config.stages)) as folder:
        path = folder / "upstream.parquet"
        write_parquet(upstream, path)
        return read(replace(config.source, uri=str(path), table=None))


def _check_users(k: int, accepted: DuckDBPyRelation) -> None:
    """Raise if there are fewer users than k: no later stage could publish anything.

    Without any user, the check of usable rows fails, and the rejected rows are stored. A partition
    may have fewer users, or none: nothing is published for it.
    """
    column = "user" if "user" in accepted.columns else "record"
    query = f'count(DISTINCT "{column}") AS n'
    [(users,)] = accepted.aggregate(query).fetchall()
    if 0 < users < k:
        raise InvalidParameterError(
            f"k must be at most the number of {column}s of the source; got k = {k} for {users} "
            f"{column}s. Set a lower k, or add data of more users."
        )


def _threads_asset(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    # Paths: the engine reads the file itself.
    ins = {"raw_log": dg.AssetIn(specs["raw_log"].key, dagster_type=Path)}

    @_stored_assets(config, specs, "threads", ins=ins)
    def threads(
        context: dg.AssetExecutionContext, raw_log: Path
    ) -> Iterator[dg.Output[StoredFile]]:
        with _open_engine(config, context, open_configured(config)) as engine:
            with redact_errors():
                if config.spark_submit:
                    file = submit_stage(context, config, "threads", raw_log, engine.folder)
                else:
                    raw = engine.read(str(raw_log))
                    file = _store(engine, threads_stream(engine, raw, config.params()))
                counts = _count(config, file, thread_counts)
            yield dg.Output(file, "threads", metadata=counts)

    return threads


def _clusters_asset(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    has_threads = "threads" in specs
    source_key = specs["threads" if has_threads else "raw_baskets"].key
    ins = {"source": dg.AssetIn(source_key, dagster_type=Path)}

    @_stored_assets(config, specs, "clusters", ins=ins)
    def clusters(
        context: dg.AssetExecutionContext, source: Path
    ) -> Iterator[dg.Output[StoredFile]]:
        with _open_engine(config, context, open_configured(config)) as engine:
            with redact_errors():
                if config.spark_submit:
                    file = submit_stage(context, config, "clusters", source, engine.folder)
                elif has_threads:
                    rows = engine.read(str(source))
                    file = _store(engine, clusters_stream(engine, rows, config.params()))
                else:
                    baskets = engine.read(str(source)).to_arrow_table()
                    file = _store(engine, basket_clusters_table(baskets))
                file = _place(config, engine, file)
                counts = _count(config, file, partial(cluster_counts, p=config.p))
            yield dg.Output(file, "clusters", metadata=counts)

    return clusters


def _anonymized_assets(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    stages = ("anonymized_threads", "ledger", "cost_report")
    clusters_key = specs["clusters"].key
    deps = {stage: {clusters_key} for stage in stages}
    deps["cost_report"].add(specs["anonymized_threads"].key)
    ins = {"clusters": dg.AssetIn(clusters_key)}

    @_stored_assets(config, specs, *stages, ins=ins, internal_asset_deps=deps)
    def anonymized_threads(
        context: dg.AssetExecutionContext, clusters: DuckDBPyRelation
    ) -> Iterator[dg.Output[StoredFile | pa.Table]]:
        with _open_engine(config, context, open_embedded(config)) as engine:
            with redact_errors(), use_configured_executor(config, len(clusters)):
                result = anonymize_clusters(clusters, config.params(), engine.folder)
                threads, ledger = _store(engine, result.threads), _store(engine, result.ledger)
                cost = result.cost()
            for warning in result.warnings:
                context.log.warning(warning)
            total = cost.slice(len(cost) - 1).to_pylist()[0]
            metadata = {
                keys.THREADS: result.published,
                keys.GROUPS: result.groups,
                keys.SMALLEST_GROUP: result.smallest_group,
                keys.WITHDRAWALS: total["withdrawals"],
            }
            costs = {f"{keys.PREFIX}{name}": total[name] for name in COST_COUNTS}
            if isfinite(total["factor"]):  # the Dagster UI cannot show infinity
                costs[keys.FACTOR] = round_factor(total["factor"])
            yield dg.Output(threads, "anonymized_threads", metadata=metadata)
            yield dg.Output(ledger, "ledger", metadata={keys.THREADS: result.published})
            yield dg.Output(cost, "cost_report", metadata=costs)

    return anonymized_threads


def _release_asset(config: ReleaseConfig, specs: Specs) -> dg.AssetsDefinition:
    # All stages: the gate compares them with each other and with the rows of the source.
    inputs = tuple(stage for stage in specs if stage != "release")

    @dg.multi_asset(
        name=f"{config.name}__release",
        ins={stage: dg.AssetIn(specs[stage].key, dagster_type=Path) for stage in inputs},
        # `publish` writes the files, so the IO manager has nothing to store.
        outs={"release": dg.AssetOut.from_spec(specs["release"], dagster_type=dg.Nothing)},
        partitions_def=specs["release"].partitions_def,
        op_tags=STEP_TAGS,
    )
    def release(context: dg.AssetExecutionContext, **files: Path) -> dg.Output[None]:
        partition = _partition_key(context)
        if partition is not None and _has_no_rows(files["anonymized_threads"]):
            context.log.info("Nothing is left of this partition: it has no release.")
            return dg.Output(None, metadata={keys.STATE: EMPTY, "dagster/row_count": 0})
        secret = environment_secret()
        if secret is None:
            context.log.warning(NO_SECRET)
        # Verifies the file to be published, whether or not asset checks have run.
        with redact_errors():
            published = publish(
                StageFiles(**files),
                ReleaseSpec(
                    name=config.name,
                    part=partition,
                    k=config.k,
                    min_owners=config.min_owners,
                    format=config.format,
                    attributes=config.attribute_names,
                    parameters=config.certified_parameters(),
                    user_names=config.user_names,
                    approval=config.approval,
                    signature=config.signature,
                    signing_key=signing_key(config.approval, config.signature),
                    secret=secret,
                ),
                config.folder,
                memory=config.memory.duckdb,
            )
        for warning in published.warnings:
            context.log.warning(warning)
        if published.state != PUBLISHED:
            context.log.info(published.sentence)
        metadata = {
            **_report_metadata(config, published, files, context),
            **_state_metadata(published),
            keys.RELEASE: published.name,
            keys.SHA256: published.digest,
            "dagster/row_count": read_metadata(published.folder / THREADS).num_rows,
        }
        return dg.Output(None, metadata=metadata)

    return release


def _state_metadata(published: Published) -> dict[str, Any]:
    """Whether the release is published, with its folder, or waits, with what to do."""
    if published.state == PUBLISHED:
        return {
            keys.STATE: PUBLISHED,
            keys.FOLDER: dg.MetadataValue.path(published.folder),
        }
    return {keys.STATE: published.sentence}


def _has_no_rows(file: Path) -> bool:
    """Whether a stage is empty; only its footer is read."""
    with redact_errors():
        return bool(read_metadata(file).num_rows == 0)


def _report_metadata(
    config: ReleaseConfig,
    published: Published,
    files: Mapping[str, Path],
    context: dg.AssetExecutionContext,
) -> dict[str, Any]:
    """Write parameters and report, and return its metadata.

    An error is logged, the release stays published.
    """
    partition = _partition_key(context)
    try:
        store_parameters(config)
        report, page = write_release_report(config, published, files)
        docs = data_docs_folder(config.data_docs, partition) / "index.html"
        return release_metadata(report, page, docs)
    except Exception as error:  # noqa: BLE001 - the release is published, whatever fails here
        # Only the class: message and traceback may contain data.
        context.log.error("The report could not be written: %s.", type(error).__name__)  # noqa: TRY400
        verdict = published.verdict
        return {
            keys.GROUPS: verdict.groups,
            keys.SMALLEST_GROUP: verdict.smallest_group,
            keys.VIOLATIONS: verdict.violations,
        }


@contextmanager
def _open_engine(
    config: ReleaseConfig,
    context: dg.AssetExecutionContext,
    opened: AbstractContextManager[OpenedEngine],
) -> Iterator[OpenedEngine]:
    """The engine of a stage; progress is logged to the run."""
    trim_memory()
    remove_all_leftovers(config.folder)
    with listen_to_progress(ProgressLogger(context.log.info)), ExitStack() as resources:
        with redact_errors():
            engine = resources.enter_context(opened)
        yield engine


def _count(
    config: ReleaseConfig,
    file: StoredFile,
    count: Callable[[DuckDBPyRelation], dict[str, int | float]],
) -> dict[str, int | float]:
    """Counts of a stored file; DuckDB reads only the columns that are counted."""
    with connect(config.memory.duckdb, temp_folder=config.stages) as connection:
        return count(read_parquet(file.path, connection))


def _place(
    config: ReleaseConfig, engine: EmbeddedEngine | SparkEngine, file: StoredFile
) -> StoredFile:
    """Add the places of the threads of a large log."""
    if not needs_plan(file.rows, config.params()):
        return file
    trim_memory()
    folder = engine.folder
    with use_executor_of(engine, file.rows):
        return StoredFile(*place_clusters(file.path, config.params(), folder, config.memory.duckdb))


def _store(engine: EmbeddedEngine | SparkEngine, rows: object) -> StoredFile:
    """Write rows to a file, which the IO manager moves to its final path."""
    return StoredFile(*engine.write_temporary(rows))


def _partition_key(context: dg.AssetExecutionContext) -> str | None:
    return context.partition_key if context.has_partition_key else None


def _time_window(context: dg.AssetExecutionContext) -> Window | None:
    """Start and end of the partition, in its time zone."""
    if not context.has_partition_key:
        return None
    window = context.partition_time_window
    return window.start, window.end
