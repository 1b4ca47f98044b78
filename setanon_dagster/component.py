"""A release as a Dagster component: YAML attributes to assets, checks, jobs and a schedule.

`dg scaffold defs` writes a file that loads and explains every parameter.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from glob import escape, has_magic
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Self

import dagster as dg
from pydantic import BaseModel, Field, WithJsonSchema, create_model, model_validator

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import (
    EXAMPLES,
    build_config,
    check_attributes,
    has_template,
    ordered_parameters,
    parameter_schema,
    yaml_description,
)
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.sources.source import DEFAULTS, Kind, Source
from setanon_dagster.translator import SetanonTranslator

YAML_HEADER: Final = """\
# A k-anonymous release of a search log or of baskets. All parameters are listed; a parameter that
# is commented out shows its default. Relative paths start at the project root. The key of the
# thread ids is the environment variable SETANON_SECRET; default: a random key, kept in OUT/private.
"""


class ScaffoldParams(BaseModel):
    """Options of `dg scaffold defs` for a release."""

    name: str | None = Field(None, description="Name of the release; default: its folder's name.")
    source: str = Field(EXAMPLES["uri"], description=yaml_description(Source, "uri"))
    kind: Kind = Field(DEFAULTS.kind, description=yaml_description(Source, "kind"))
    k: int = Field(EXAMPLES["k"], description=yaml_description(ReleaseConfig, "k"))
    out: str = Field(EXAMPLES["out"], description=yaml_description(ReleaseConfig, "out"))

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse values that would be refused when the scaffolded file is loaded."""
        attributes = self.attributes("unnamed")
        check_attributes(ReleaseConfig, attributes, "attributes")
        build_config(ReleaseConfig, attributes)
        return self

    def attributes(self, folder: str) -> dict[str, Any]:
        """The attributes of the scaffolded component; its default name is the folder's name."""
        plain = re.sub(r"[^a-z0-9]+", "_", folder.lower()).strip("_")
        default = plain if plain[:1].isalpha() else f"release_{plain}".strip("_")
        source = {"uri": self.source, "kind": self.kind}
        return {
            "name": self.name or default,
            "source": source,
            "k": self.k,
            "out": self.out,
            # Not the default, which must fit into projects that have an executor of their own.
            "in_process": True,
        }


class ReleaseScaffolder(dg.Scaffolder[ScaffoldParams]):
    """Writes the file of a release: all parameters, with comments."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldParams]:
        """The options of the command."""
        return ScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[ScaffoldParams]) -> None:
        """Write or extend `defs.yaml`; write `component.py` if the format is Python."""
        folder = request.target_path.parent if request.append else request.target_path
        attributes = request.params.attributes(folder.name)
        if request.scaffold_format == "python":
            text = _python_source(request.type_name, attributes)
            (request.target_path / "component.py").write_text(text, encoding="utf-8")
            return
        lines = commented_yaml(ReleaseConfig, attributes, "  ")
        text = f"{YAML_HEADER}type: {request.type_name}\n\nattributes:\n" + "\n".join(lines) + "\n"
        if request.append:
            with request.target_path.open("a", encoding="utf-8") as file:
                file.write(f"---\n{text}")
        else:
            (request.target_path / "defs.yaml").write_text(text, encoding="utf-8")


class ReleaseAttributes(dg.Model):
    """The attributes as written in YAML; some may be templates that are not resolved yet."""

    component_type: ClassVar[type[ReleaseConfig]] = ReleaseConfig

    @model_validator(mode="before")
    @classmethod
    def check(cls, attributes: object) -> object:
        """Check while Dagster can still show the line of the file; templates are checked later."""
        complete = _with_source(attributes)
        check_attributes(cls.component_type, complete, "attributes")
        if not has_template(complete):
            build_config(cls.component_type, complete)
        return attributes


@dg.scaffold_with(ReleaseScaffolder)
class SetanonReleaseComponent(ReleaseConfig, SetanonTranslator, dg.Component, dg.Resolvable):
    """A k-anonymous release of a search log or of baskets, from its source to published files.

    Its attributes are the parameters of `ReleaseConfig`, and those of `Source` under `source`. To
    rename or extend its assets, subclass it and override `get_asset_spec`.
    """

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """The entry in Dagster's component catalogue."""
        kinds = ["asset", "asset_check", "job", "schedule", "sensor", "resource"]
        return dg.ComponentTypeSpec(tags=["privacy", "k-anonymity"], produces=kinds)

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The pydantic model of the attributes, with description, default and range of each."""
        return _attributes_model(cls)

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """Build the component; Dagster passes None if there are no attributes."""
        return super().load(attributes or cls.model().model_validate({}), context)

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """Resolve templates and convert nothing else: a column "0" is a name, not a position."""
        attributes = _with_source(_resolve(context, model.model_dump(exclude_unset=True)))
        check_attributes(cls, attributes, "attributes")
        return build_config(cls, attributes)

    @property
    def release(self) -> ReleaseConfig:
        """The release as a plain `ReleaseConfig`."""
        values = {field.name: getattr(self, field.name) for field in fields(ReleaseConfig)}
        return ReleaseConfig(**values)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """All definitions of the release; relative paths start at the project root."""
        root = context.project_root
        source = replace(self.source, uri=_absolute(root, self.source.uri))
        config = replace(self.release, source=source, out=str(root / self.out))
        return build_setanon_definitions(config, translator=self)


def commented_yaml(owner: type, attributes: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Lines of YAML: the attributes, and as comments all descriptions and all other parameters."""
    comment = f"{indent}# "
    for parameter in ordered_parameters(owner):
        name = parameter.name
        yield from textwrap.wrap(
            yaml_description(owner, name), 96, initial_indent=comment, subsequent_indent=comment
        )
        if parameter.nested is not None:
            yield f"{indent}{name}:"
            yield from commented_yaml(parameter.nested, attributes[name], indent + "  ")
        elif name in attributes:
            yield f"{indent}{name}: {_yaml_value(attributes[name])}"
        else:
            yield f"{indent}#{name}: {_yaml_value(parameter.default)}"


def _yaml_value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # JSON is YAML, with all necessary quotes


def _python_source(type_name: str, attributes: Mapping[str, Any]) -> str:
    module, _, name = type_name.rpartition(".")
    source = ", ".join(f"{key}={value!r}" for key, value in attributes["source"].items())
    return f"""\
import dagster as dg
from {module} import {name}
from setanon_dagster import Source


@dg.component_instance
def load(context: dg.ComponentLoadContext) -> {name}:
    return {name}(
        name={attributes["name"]!r},
        source=Source({source}),
        k={attributes["k"]!r},
        out={attributes["out"]!r},
        in_process={attributes["in_process"]!r},
    )
"""


@cache
def _attributes_model(owner: type[SetanonReleaseComponent]) -> type[BaseModel]:
    attributes: dict[str, Any] = {}
    for parameter in ordered_parameters(owner):
        name = parameter.name
        schema = Annotated[Any, WithJsonSchema(parameter_schema(owner, name))]
        # The source is optional here: it may be an upstream asset, see json_schema_extra.
        required = parameter.required and name != "source"
        attributes[name] = (schema, ... if required else parameter.default)
    model = create_model(f"{owner.__name__}Model", __base__=ReleaseAttributes, **attributes)
    model.component_type = owner
    model.model_config["json_schema_extra"] = {
        "if": {"required": ["upstream"], "properties": {"upstream": {"type": "string"}}},
        "else": {"required": ["source"], "properties": {"source": {"required": ["uri"]}}},
    }
    return model


def _with_source(attributes: Any) -> Any:  # noqa: ANN401 - unchecked YAML
    """Add an empty source path if an upstream asset replaces the file."""
    if not (isinstance(attributes, Mapping) and attributes.get("upstream")):
        return attributes
    source = attributes.get("source", {})
    filled = {"uri": "", **source} if isinstance(source, Mapping) else source
    return {**attributes, "source": filled}


def _resolve(context: dg.ResolutionContext, value: object) -> object:
    """Resolve the templates in a value."""
    if isinstance(value, dict):
        return {name: _resolve(context.at_path(name), part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_resolve(context.at_path(index), part) for index, part in enumerate(value)]
    return context.resolve_value(value, as_type=object) if has_template(value) else value


def _absolute(root: Path, uri: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Paths of a source below the project root; an empty path stays empty."""
    if not isinstance(uri, str):
        return tuple(str(_absolute(root, path)) for path in uri)
    # In a glob, brackets in the root's own path must not be part of the pattern.
    base = Path(escape(str(root))) if has_magic(uri) else root
    return str(base / uri) if uri else uri
