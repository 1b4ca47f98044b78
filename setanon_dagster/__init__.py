"""Dagster assets, checks and a release gate around `setanon_core`.

Public names are imported when they are first used: `import setanon_dagster` does not load Dagster.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from setanon_dagster.assets import build_setanon_assets
    from setanon_dagster.component import SetanonReleaseComponent
    from setanon_dagster.config import ReleaseConfig
    from setanon_dagster.definitions import build_setanon_definitions
    from setanon_dagster.io_manager import DuckDBParquetStorage
    from setanon_dagster.sources.source import Source
    from setanon_dagster.translator import SetanonTranslator

__all__ = [
    "DuckDBParquetStorage",
    "ReleaseConfig",
    "SetanonReleaseComponent",
    "SetanonTranslator",
    "Source",
    "build_setanon_assets",
    "build_setanon_definitions",
]

HOMES: Final = {
    "DuckDBParquetStorage": "io_manager",
    "ReleaseConfig": "config",
    "SetanonReleaseComponent": "component",
    "SetanonTranslator": "translator",
    "Source": "sources.source",
    "build_setanon_assets": "assets",
    "build_setanon_definitions": "definitions",
}
"""The module of each public name."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever it is called by
    """Import a public name when it is first used."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names too: `dg` finds components by looking through this list."""
    return sorted({*globals(), *HOMES})
