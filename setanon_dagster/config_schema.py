"""YAML attributes of a release: JSON schema and checks, derived from the declarations."""

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, Final, TypeVar

from setanon_core.declarations import Parameter, describe, parameters_of
from setanon_core.errors import InvalidParameterError

Schema = dict[str, Any]
Config = TypeVar("Config")

TEMPLATE: Final = "{{"
"""Begins a value that Dagster resolves on loading, such as `{{ env.LOG }}`."""

IS_TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\{\{"}

JSON_TYPES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "array",
    NoneType: "null",
}

EXAMPLES: Final[Schema] = {"name": "searches", "uri": "data/log.tsv", "k": 3, "out": "out"}
"""Values of the parameters that have no default."""


def ordered_parameters(owner: type) -> list[Parameter]:
    """The parameters of a dataclass for readers: required ones first, then by declaration."""
    return sorted(parameters_of(owner).values(), key=lambda parameter: not parameter.required)


def yaml_description(owner: type, name: str) -> str:
    """The description of a parameter, its choices and its range, in the terms of YAML."""
    return describe(owner, name).replace("None", "null")


def object_schema(owner: type) -> Schema:
    """The JSON schema of an object with the parameters of a dataclass, and no others."""
    names = [parameter.name for parameter in ordered_parameters(owner)]
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: parameter_schema(owner, name) for name in names},
    }


def parameter_schema(owner: type, name: str) -> Schema:
    """The JSON schema of a parameter: description, default, and choices or type and range."""
    parameter = parameters_of(owner)[name]
    schema: Schema = {"description": yaml_description(owner, name)}
    if parameter.nested is not None:
        return schema | object_schema(parameter.nested)
    value = EXAMPLES.get(name) if parameter.required else parameter.default
    # Without examples, Dagster's tools invent values.
    schema["examples"] = [list(value) if isinstance(value, tuple) else value]
    if not parameter.required:
        schema["default"] = schema["examples"][0]
    # Not `anyOf`: a validator would only report that the value matches neither alternative.
    return schema | {"if": IS_TEMPLATE, "else": _value_schema(parameter)}


def check_attributes(owner: type, values: object, name: str) -> None:
    """Refuse unknown names, missing parameters and values of the wrong type.

    Choices and ranges are checked by the dataclass itself, templates after they are resolved.
    """
    if not isinstance(values, Mapping):
        raise InvalidParameterError(
            f"{name} must be a mapping of parameters to values; got a value of type "
            f"{type(values).__name__}."
        )
    parameters = parameters_of(owner)
    for key in values:
        if key not in parameters:
            raise InvalidParameterError(
                f"{name} must be among {', '.join(_names(owner))}; got {key!r}. Check the spelling."
            )
    for parameter in parameters.values():
        if parameter.required and parameter.name not in values:
            raise InvalidParameterError(
                f"{name} must have {parameter.name}; it is missing. "
                f"{yaml_description(owner, parameter.name)}"
            )
    for key, value in values.items():
        parameter = parameters[key]
        if parameter.nested is not None:
            check_attributes(parameter.nested, value, key)
        elif not (parameter.choices or has_template(value) or _has_type(value, parameter.types)):
            expected = " or ".join(JSON_TYPES[kind] for kind in parameter.types)
            raise InvalidParameterError(
                f"{key} must be of type {expected}; got a value of type {type(value).__name__}."
            )


def build_config(owner: type[Config], values: Mapping[str, Any]) -> Config:
    """Build the dataclass from attributes that passed `check_attributes`."""
    arguments = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    declared: type = owner
    for name, parameter in parameters_of(declared).items():
        if name in values and parameter.nested is not None:
            arguments[name] = build_config(parameter.nested, values[name])
    return owner(**arguments)


def has_template(value: object) -> bool:
    """Whether a value contains a template that is not resolved yet."""
    if isinstance(value, Mapping):
        return any(map(has_template, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_template, value))
    return isinstance(value, str) and TEMPLATE in value


def _names(owner: type) -> Iterable[str]:
    return (parameter.name for parameter in ordered_parameters(owner))


def _value_schema(parameter: Parameter) -> Schema:
    if not all(kind in JSON_TYPES for kind in parameter.types):
        return {}
    types = [JSON_TYPES[kind] for kind in parameter.types]
    if parameter.choices:
        return {"enum": [*parameter.choices, *([None] if "null" in types else [])]}
    schema: Schema = {"type": types}
    if "array" in types:
        schema["items"] = {"type": "string"}
    if parameter.required and "string" in types:
        # Python callers may pass an empty path: an upstream asset replaces the source file.
        schema["minLength"] = 1
    return schema | ({} if parameter.range is None else parameter.range.schema())


def _has_type(value: object, types: tuple[Any, ...]) -> bool:
    if not all(kind in JSON_TYPES for kind in types):
        return True
    if isinstance(value, list | tuple):
        return tuple in types and all(isinstance(part, str) for part in value)
    # An exact comparison: bool is a subclass of int. An integer is a valid number.
    return type(value) in types or (type(value) is int and float in types)
