"""A release as a Dagster component: a few lines of YAML are a whole pipeline."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from glob import escape, has_magic
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import dagster as dg
from pydantic import BaseModel, WithJsonSchema, create_model, model_validator

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import (
    check_knobs,
    defaults_of,
    has_template,
    hints_of,
    knob_schema,
    make,
)
from setanon_dagster.definitions import build_setanon_definitions
from setanon_dagster.scaffolding import ReleaseScaffolder
from setanon_dagster.translator import SetanonTranslator


class ReleaseAttributes(dg.Model):
    """The attributes as they stand in YAML, where some may be templates still to be filled in."""

    made_into: ClassVar[type[ReleaseConfig]] = ReleaseConfig

    @model_validator(mode="before")
    @classmethod
    def check(cls, given: object) -> object:
        """Refuse in our own words, and at the place in the file; templates are looked at later."""
        sourced = _sourced(given)
        check_knobs(cls.made_into, sourced, "attributes")
        if not has_template(sourced):
            make(cls.made_into, sourced)
        return given


@dg.scaffold_with(ReleaseScaffolder)
class SetanonReleaseComponent(ReleaseConfig, SetanonTranslator, dg.Component, dg.Resolvable):
    """A k-anonymous release of a search log or of baskets, from its source to published files.

    Its attributes are the knobs of `ReleaseConfig`, and of `Source` under `source`. To rename or
    enrich its assets, subclass it and override `get_asset_spec`.
    """

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """What Dagster's catalogue says of the component."""
        kinds = ["asset", "asset_check", "job", "schedule", "sensor", "resource"]
        return dg.ComponentTypeSpec(tags=["privacy", "k-anonymity"], produces=kinds)

    @classmethod
    def model(cls) -> type[BaseModel]:
        """The schema of the attributes: every knob with its sentence, default and range."""
        return _model_of(cls)

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """Make the component; Dagster hands over None if there are no attributes."""
        return super().load(attributes or cls.model().model_validate({}), context)

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """Fill in the templates, and nothing else: a column "0" is a name, not a position."""
        given = _sourced(_filled(context, model.model_dump(exclude_unset=True)))
        check_knobs(cls, given, "attributes")
        return make(cls, given)

    @property
    def release(self) -> ReleaseConfig:
        """The release without the component around it."""
        return ReleaseConfig(
            **{knob.name: getattr(self, knob.name) for knob in fields(ReleaseConfig)}
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """All definitions of the release; relative paths begin at the root of the project."""
        root = context.project_root
        source = replace(self.source, uri=_from(root, self.source.uri))
        config = replace(self.release, source=source, out=str(root / self.out))
        return build_setanon_definitions(config, translator=self)


@cache
def _model_of(owner: type[SetanonReleaseComponent]) -> type[BaseModel]:
    defaults = {**defaults_of(owner), "source": None}
    knobs: dict[str, Any] = {
        name: (Annotated[Any, WithJsonSchema(knob_schema(owner, name))], defaults.get(name, ...))
        for name in hints_of(owner)
    }
    model = create_model(f"{owner.__name__}Model", __base__=ReleaseAttributes, **knobs)
    model.made_into = owner
    model.model_config["json_schema_extra"] = {
        "if": {"required": ["upstream"], "properties": {"upstream": {"type": "string"}}},
        "else": {"required": ["source"], "properties": {"source": {"required": ["uri"]}}},
    }
    return model


def _sourced(given: Any) -> Any:  # noqa: ANN401 - whatever stands in the file, still unchecked
    """An upstream asset stands in for the file: there may be no path, and no source at all."""
    if not (isinstance(given, Mapping) and given.get("upstream")):
        return given
    source = given.get("source", {})
    return {**given, "source": {"uri": "", **source} if isinstance(source, Mapping) else source}


def _filled(context: dg.ResolutionContext, value: object) -> object:
    if isinstance(value, dict):
        return {name: _filled(context.at_path(name), part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(context.at_path(place), part) for place, part in enumerate(value)]
    return context.resolve_value(value, as_type=object) if has_template(value) else value


def _from(root: Path, uri: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """The paths of a source, from the root of the project on; no path stays none."""
    if not isinstance(uri, str):
        return tuple(str(_from(root, path)) for path in uri)
    # In a pattern, a bracket in the root's own name would be part of the pattern.
    base = Path(escape(str(root))) if has_magic(uri) else root
    return str(base / uri) if uri else uri
