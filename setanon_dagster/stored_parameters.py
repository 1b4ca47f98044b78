"""Parameters of the last release of each name, stored in the private folder for `setanon ui`.

They have the absolute path of the source, and no secret. The settings and the command
of Spark are not stored: they may contain credentials. A release of an upstream asset stores none,
since only its own code location can load that asset.
"""

import json
from pathlib import Path
from typing import Any, Final

from setanon_core.declarations import parameters_of
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import build_config, check_attributes
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.atomic import atomic_write
from setanon_dagster.storage.folders import PRIVATE, private_folder

PARAMETERS: Final = "parameters"
"""Folder in the private folder, with one file per name."""

NOT_STORED: Final = frozenset({"out", "spark_settings", "spark_submit"})
"""`out` is the folder that has the file, wherever it was moved."""


def store_parameters(config: ReleaseConfig) -> None:
    """Store the parameters of a release, in place of those of the last one of this name."""
    if config.upstream is not None:
        return
    source = _values(Source, config.source)
    paths = [str(Path(uri).absolute()) for uri in config.source.uris]
    source["uri"] = paths[0] if isinstance(config.source.uri, str) else paths
    values = _values(ReleaseConfig, config) | {"source": source}
    target = private_folder(config.private / PARAMETERS) / f"{config.name}.json"
    with atomic_write(target) as file:
        file.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def stored_parameters(out: Path) -> list[ReleaseConfig]:
    """The parameters of all releases in an output folder, sorted by name; at least one."""
    files = sorted((out / PRIVATE / PARAMETERS).glob("*.json"))
    if not files:
        raise InvalidParameterError(
            f"out must be the folder of releases; {out}/{PRIVATE}/{PARAMETERS} has no file. Pass "
            "the folder that setanon release wrote to, or release once more with this version."
        )
    return [_read(file, out) for file in files]


def _values(declared: type, parameters: object) -> dict[str, Any]:
    """The values of a dataclass, without those of a subclass."""
    names = parameters_of(declared).keys() - NOT_STORED
    return {name: getattr(parameters, name) for name in sorted(names)}


def _read(file: Path, out: Path) -> ReleaseConfig:
    """Read the parameters of a release; those of another version may have other names."""
    try:
        values = json.loads(file.read_bytes())
        check_attributes(ReleaseConfig, values | {"out": str(out)}, PARAMETERS)
        return build_config(ReleaseConfig, values | {"out": str(out)})
    except (ValueError, TypeError, InvalidParameterError) as error:
        raise MalformedInputError(
            f"{PRIVATE}/{PARAMETERS}/{file.name} must have the parameters of a release of this "
            f"version; it cannot be read ({type(error).__name__}). Release once more."
        ) from None
