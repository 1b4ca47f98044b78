"""What runs by itself: releases by schedule or when a file changes, and a look at what is out."""

from hashlib import blake2b
from typing import Any, Final

import dagster as dg

from setanon_core.errors import SetanonError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.redaction import redact_errors
from setanon_dagster.translator import SetanonTranslator, asset_specs, partitions_definition
from setanon_dagster.verifier.release_folder import published_releases, verify_release

Job = Any
Schedule = Any
"""Dagster has no public name for a job, or a schedule, of assets that are still to be resolved."""

NO_PART: Final = "No part of the log is over."

LOOK_EVERY: Final = 60
"""Seconds between two looks of the sensor at the source."""


def release_job(config: ReleaseConfig, translator: SetanonTranslator | None = None) -> Job:
    """All stages, their checks and the release, one after the other in one process."""
    return dg.define_asset_job(
        name=f"{config.name}_release_job",
        # The checks of these assets are part of the selection.
        selection=dg.AssetSelection.assets(
            *(spec.key for spec in asset_specs(config, translator).values())
        ),
        description="Read, separate, cluster, anonymize, check, verify and publish.",
        # Four trivial steps in processes of their own take 40 s, most of it imports.
        executor_def=dg.in_process_executor,
    )


def release_schedule(config: ReleaseConfig, job: Job) -> Schedule:
    """Release by the clock, once somebody switches it on; of a partitioned log the last part."""

    # Dagster's own schedule of a partitioned job has no place for a cron.
    @dg.schedule(
        name=f"{config.name}_schedule",
        job=job,
        cron_schedule=config.cron,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Starts a release by the clock.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if config.partition is None:
            return dg.RunRequest()
        with dg.partition_loading_context(effective_dt=context.scheduled_execution_time):
            part = _last_part(config)
        if part is None:
            return dg.SkipReason(NO_PART)
        # By its key, a part is released once, however often the clock strikes in it.
        return dg.RunRequest(run_key=part, partition_key=part)

    return schedule


def source_sensor(config: ReleaseConfig, job: Job) -> dg.SensorDefinition:
    """Release when a source file is new or has changed, once somebody switches it on.

    Of a partitioned log, the last part that is over is released; others are for a backfill.
    """

    @dg.sensor(
        name=f"{config.name}_source_sensor",
        job=job,
        minimum_interval_seconds=LOOK_EVERY,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Starts a release when a source file appears or changes.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if config.upstream is not None:
            return dg.SkipReason("The source is an asset: automation conditions follow it.")
        try:
            seen = _looks(config)
        except (SetanonError, OSError) as error:
            return dg.SkipReason(f"The source is not there ({type(error).__name__}).")
        part = _last_part(config) if config.partition else None
        if config.partition and part is None:
            return dg.SkipReason(NO_PART)
        if seen == context.cursor:
            return dg.SkipReason("The source is as it was.")
        context.update_cursor(seen)
        return dg.RunRequest(run_key=f"{config.name}:{seen}", partition_key=part)

    return sensor


def _looks(config: ReleaseConfig) -> str:
    """A digest of the names, times and sizes of the source's files; it grows with none of them."""
    files = [(str(path), path.stat()) for path in config.source.paths]
    told = [(path, file.st_mtime_ns, file.st_size) for path, file in files]
    return blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _last_part(config: ReleaseConfig) -> str | None:
    """The last part of a log that is over; None before the first is."""
    parts = partitions_definition(config)
    return None if parts is None else parts.get_last_partition_key()


def verify_job(config: ReleaseConfig) -> dg.JobDefinition:
    """Verify everything that is published, with its ledger, and publish nothing."""

    @dg.op(name=f"{config.name}__verify_published")
    def verify_published(context: dg.OpExecutionContext) -> None:
        with redact_errors():
            found = published_releases(config.folder, config.name)
            for release in found:
                verdict = verify_release(
                    release, config.folder / "private", memory=config.memory_limit
                )
                context.log.info(
                    "%s: %d threads, %d groups, the smallest of %d users.",
                    release.name,
                    verdict.records,
                    verdict.groups,
                    verdict.smallest_group,
                )
        context.add_output_metadata({"releases": len(found)})

    @dg.job(
        name=f"{config.name}_verify_job",
        description="Verify what is published, and nothing else.",
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        verify_published()

    return job
