"""Dagster plugin for `setanon_core`: assets, checks, jobs, and publication of verified releases.

Public names are imported on first use: `import setanon_dagster` does not import Dagster.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from setanon_dagster.assets import build_setanon_assets, storage_key
    from setanon_dagster.checks import build_checks
    from setanon_dagster.component import SetanonReleaseComponent
    from setanon_dagster.config import ReleaseConfig
    from setanon_dagster.definitions import build_setanon_definitions
    from setanon_dagster.executor import release_executor
    from setanon_dagster.gate.publish import publish
    from setanon_dagster.gate.release_spec import Published, ReleaseSpec, StageFiles
    from setanon_dagster.io_manager import DuckDBParquetStorage, StoredFile
    from setanon_dagster.jobs import release_job, release_schedule, source_sensor, verify_job
    from setanon_dagster.sources.loading import ReadResult
    from setanon_dagster.sources.read import read_source
    from setanon_dagster.sources.source import Source
    from setanon_dagster.translator import (
        SetanonTranslator,
        Stage,
        asset_specs,
        partitions_definition,
    )
    from setanon_dagster.verifier.release_file import verify_file
    from setanon_dagster.verifier.release_folder import verify_release
    from setanon_dagster.verifier.verdict import FileVerdict

__all__ = [
    "DuckDBParquetStorage",
    "FileVerdict",
    "Published",
    "ReadResult",
    "ReleaseConfig",
    "ReleaseSpec",
    "SetanonReleaseComponent",
    "SetanonTranslator",
    "Source",
    "Stage",
    "StageFiles",
    "StoredFile",
    "asset_specs",
    "build_checks",
    "build_setanon_assets",
    "build_setanon_definitions",
    "partitions_definition",
    "publish",
    "read_source",
    "release_executor",
    "release_job",
    "release_schedule",
    "source_sensor",
    "storage_key",
    "verify_file",
    "verify_job",
    "verify_release",
]

MODULES: Final = {
    "assets": ("build_setanon_assets", "storage_key"),
    "checks": ("build_checks",),
    "component": ("SetanonReleaseComponent",),
    "config": ("ReleaseConfig",),
    "definitions": ("build_setanon_definitions",),
    "executor": ("release_executor",),
    "gate.publish": ("publish",),
    "gate.release_spec": ("Published", "ReleaseSpec", "StageFiles"),
    "io_manager": ("DuckDBParquetStorage", "StoredFile"),
    "jobs": ("release_job", "release_schedule", "source_sensor", "verify_job"),
    "sources.loading": ("ReadResult",),
    "sources.read": ("read_source",),
    "sources.source": ("Source",),
    "translator": ("SetanonTranslator", "Stage", "asset_specs", "partitions_definition"),
    "verifier.release_file": ("verify_file",),
    "verifier.release_folder": ("verify_release",),
    "verifier.verdict": ("FileVerdict",),
}
"""Public names by module."""

_MODULE_OF: Final = {name: module for module, names in MODULES.items() for name in names}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type of the public name
    """Import a public name on first use."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    """Include the public names: `dg` finds components through this list."""
    return sorted({*globals(), *_MODULE_OF})
