"""Jobs, schedule and sensor of one release, and the job that verifies published releases."""

from hashlib import blake2b
from typing import Any, Final

import dagster as dg

from setanon_core.errors import SetanonError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.gate.certificate import setanon_version
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.metadata_keys import RELEASES
from setanon_dagster.redaction import redact_errors
from setanon_dagster.translator import SetanonTranslator, asset_specs, partitions_definition
from setanon_dagster.verifier.release_folder import verify_release
from setanon_dagster.verifier.release_series import published_releases

Job = Any
Schedule = Any
"""Dagster has no public type for a job, or a schedule, of unresolved assets."""

NO_PARTITION: Final = "No partition has ended yet."

SENSOR_INTERVAL: Final = 60
"""Seconds between two evaluations of the source sensor."""


def release_job(config: ReleaseConfig, translator: SetanonTranslator | None = None) -> Job:
    """All assets of a release and their checks, in one process."""
    return dg.define_asset_job(
        name=f"{config.name}_release_job",
        # Selecting assets selects their checks, too.
        selection=dg.AssetSelection.assets(
            *(spec.key for spec in asset_specs(config, translator).values())
        ),
        description="Reads, anonymizes, checks, verifies and publishes.",
        # One process per step takes 40 s for four trivial steps, most of it imports.
        executor_def=dg.in_process_executor,
    )


def release_schedule(config: ReleaseConfig, job: Job) -> Schedule:
    """Run the job by `cron`; with partitions, for the last one that has ended. Initially off."""

    # Not `build_schedule_from_partitioned_job`: it accepts no cron expression.
    @dg.schedule(
        name=f"{config.name}_schedule",
        job=job,
        cron_schedule=config.cron,
        execution_timezone=config.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Starts the release job by cron.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if config.partition is None:
            return dg.RunRequest()
        with dg.partition_loading_context(effective_dt=context.scheduled_execution_time):
            partition = _last_partition(config)
        if partition is None:
            return dg.SkipReason(NO_PARTITION)
        # The run key releases a partition once, regardless of how many ticks fall into it.
        return dg.RunRequest(run_key=partition, partition_key=partition)

    return schedule


def source_sensor(config: ReleaseConfig, job: Job) -> dg.SensorDefinition:
    """Run the job when a source file appears or changes. Initially off.

    With partitions, the last one that has ended is released; use a backfill for others.
    """

    @dg.sensor(
        name=f"{config.name}_source_sensor",
        job=job,
        minimum_interval_seconds=SENSOR_INTERVAL,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Starts the release job when a source file appears or changes.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        try:
            fingerprint = _source_fingerprint(config)
        except (SetanonError, OSError) as error:
            return dg.SkipReason(f"The source is not available ({type(error).__name__}).")
        partition = _last_partition(config) if config.partition else None
        if config.partition and partition is None:
            return dg.SkipReason(NO_PARTITION)
        if fingerprint == context.cursor:
            return dg.SkipReason("The source has not changed.")
        context.update_cursor(fingerprint)
        return dg.RunRequest(run_key=f"{config.name}:{fingerprint}", partition_key=partition)

    return sensor


def _source_fingerprint(config: ReleaseConfig) -> str:
    """Digest of path, modification time and size of each source file; constant length."""
    files = [(str(path), path.stat()) for path in config.source.paths]
    states = [(path, file.st_mtime_ns, file.st_size) for path, file in files]
    return blake2b(repr(states).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _last_partition(config: ReleaseConfig) -> str | None:
    """The last partition that has ended; None before the first one ends."""
    partitions = partitions_definition(config)
    return None if partitions is None else partitions.get_last_partition_key()


def verify_job(config: ReleaseConfig) -> dg.JobDefinition:
    """Verify all published folders of this release with their ledgers; publishes nothing."""

    @dg.op(name=f"{config.name}__verify_published")
    def verify_published(context: dg.OpExecutionContext) -> None:
        with redact_errors():
            releases = published_releases(config.folder, config.name)
            for release in releases:
                verdict = verify_release(
                    release,
                    config.private,
                    data_sheet=datasheet,
                    version=setanon_version(),
                    memory=config.memory.duckdb,
                )
                context.log.info(
                    "%s: %d threads, %d groups, smallest group: %d users.",
                    release.name,
                    verdict.records,
                    verdict.groups,
                    verdict.smallest_group,
                )
        context.add_output_metadata({RELEASES: len(releases)})

    @dg.job(
        name=f"{config.name}_verify_job",
        description="Verifies all published releases; publishes nothing.",
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        verify_published()

    return job
