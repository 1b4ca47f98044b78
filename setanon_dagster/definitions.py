"""All Dagster definitions of one release."""

from contextlib import suppress
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version

import dagster as dg
from dagster_shared.libraries import DagsterLibraryRegistry

from setanon_dagster.assets import build_setanon_assets, storage_key
from setanon_dagster.checks import build_checks
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.executor import release_executor
from setanon_dagster.io_manager import DuckDBParquetStorage
from setanon_dagster.jobs import release_job, release_schedule, source_sensor, verify_job
from setanon_dagster.translator import SetanonTranslator, asset_specs, partitions_definition

with suppress(PackageNotFoundError):  # not installed: run from a checkout
    DagsterLibraryRegistry.register("setanon", version("setanon"), is_dagster_package=False)


class ReleaseDefinitions(dg.Definitions):
    """Definitions of one release; loaded alone, they have the executor of releases.

    They do not declare it: `dg.Definitions.merge` gives a declared executor to the jobs of all
    merged definitions, and refuses two different ones.
    """

    @cached_property
    def _with_executor(self) -> dg.Definitions:
        return dg.Definitions.merge(self, dg.Definitions(executor=release_executor))

    def get_repository_def(self) -> dg.RepositoryDefinition:
        """The repository that Dagster loads if these definitions are a code location."""
        return self._with_executor.get_repository_def()


def build_setanon_definitions(
    config: ReleaseConfig, translator: SetanonTranslator | None = None
) -> dg.Definitions:
    """Assets, checks, jobs, schedule, sensor and IO manager of one release.

    Combine several releases in one code location with `dg.Definitions.merge`. Materialized assets
    then run in one process per step, unless a release has `in_process=True`.
    """
    specs = asset_specs(config, translator)
    job = release_job(config, translator)
    storage = DuckDBParquetStorage(folder=str(config.stages), memory_limit=config.memory.duckdb)
    return ReleaseDefinitions(
        assets=build_setanon_assets(config, translator),
        asset_checks=build_checks(
            {stage: spec.key for stage, spec in specs.items()},
            k=config.k,
            min_owners=config.min_owners,
            format=config.format,
            attributes=config.attribute_names,
            partitions_def=partitions_definition(config),
            docs=config.data_docs,
            name=config.name,
            memory=config.memory.duckdb,
            spill=config.stages,
        ),
        jobs=[job, verify_job(config)],
        schedules=[release_schedule(config, job)],
        # The release of an upstream asset has no file to watch; automation conditions apply.
        sensors=[] if config.upstream else [source_sensor(config, job)],
        resources={storage_key(config): storage},
        executor=release_executor if config.in_process else None,
    )
