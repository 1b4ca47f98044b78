"""All Dagster definitions of one release."""

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import dagster as dg
from dagster_shared.libraries import DagsterLibraryRegistry

from setanon_dagster.assets import build_setanon_assets, storage_key
from setanon_dagster.checks import build_checks
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.io_manager import DuckDBParquetStorage
from setanon_dagster.jobs import release_job, release_schedule, source_sensor, verify_job
from setanon_dagster.translator import SetanonTranslator, asset_specs, partitions_definition

with suppress(PackageNotFoundError):  # not installed: run from a checkout
    DagsterLibraryRegistry.register("setanon", version("setanon"), is_dagster_package=False)


def build_setanon_definitions(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> dg.Definitions:
    """Assets, checks, jobs, schedule, sensor and IO manager of one release.

    Combine several releases in one code location with `dg.Definitions.merge`.
    """
    specs = asset_specs(config, translator)
    job = release_job(config, translator)
    storage = DuckDBParquetStorage(folder=str(config.stages), memory_limit=config.memory_limit)
    return dg.Definitions(
        assets=build_setanon_assets(config, translator),
        asset_checks=build_checks(
            {stage: spec.key for stage, spec in specs.items()},
            k=config.k,
            min_owners=config.min_owners,
            format=config.format,
            partitions_def=partitions_definition(config),
            docs=config.data_docs,
            name=config.name,
            memory=config.memory_limit,
            spill=config.stages,
        ),
        jobs=[job, verify_job(config)],
        schedules=[release_schedule(config, job)],
        sensors=[source_sensor(config, job)],
        resources={storage_key(config): storage},
    )
