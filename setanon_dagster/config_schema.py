"""The knobs of a dataclass for those who write YAML: their sentences, a JSON schema, checks.

A knob's description is the sentence under its field, its choices are its type's and its default
is its field's, so that nothing is said twice.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from setanon_core.errors import InvalidParameterError
from setanon_dagster.config import MEMORY, NAME

Schema = dict[str, Any]
Owner = TypeVar("Owner")

TEMPLATE: Final = "{{"
"""How a value begins that Dagster fills in on loading, such as `{{ env.LOG }}`."""

IS_TEMPLATE: Final[Schema] = {"type": "string", "pattern": r"\{\{"}

TYPES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "array",
    NoneType: "null",
}
"""The types of knobs, as JSON and YAML call them."""

COLUMNS: Final = ("user", "time", "query", "record", "item")

RANGES: Final[Mapping[str, Schema]] = {
    "name": {"pattern": f"^{NAME.pattern}$"},
    "uri": {"minLength": 1},
    "k": {"minimum": 2},
    "out": {"minLength": 1},
    "p": {"minimum": 1, "maximum": 4},
    "min_owners": {"minimum": 0},
    "similarity": {"minimum": 0, "maximum": 1},
    "seed": {"minimum": 0},
    "workers": {"minimum": 1},
    "memory_limit": {"pattern": f"^{MEMORY.pattern}$"},
    "start": {"pattern": r"^\d{4}-\d{1,2}-\d{1,2}$"},
    "longest_line": {"minimum": 1},
    "delimiter": {"minLength": 1, "maxLength": 1},
    **{f"{name}_column": {"minimum": 0, "minLength": 1} for name in COLUMNS},
}
"""What a type does not say of a knob. The dataclasses themselves refuse; this is for editors."""

EXAMPLES: Final[Schema] = {"name": "searches", "uri": "data/log.tsv", "k": 3, "out": "out"}
"""Values of the knobs that have no default."""


@cache
def sentences(owner: type) -> Mapping[str, str]:
    """The sentence under each field of a dataclass and its bases, on one line."""
    said: dict[str, str] = {}
    for base in reversed([base for base in owner.__mro__ if is_dataclass(base)]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except OSError:
            continue  # Without its source a dataclass works as well, and says less.
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, under in pairwise(body):
            match field, under:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(sentence))),
                ):
                    said[name] = " ".join(sentence.split())
    return said


def describe(owner: type, name: str) -> str:
    """What a knob is for, and its choices."""
    said = sentences(owner).get(name, "")
    offered = [str(value) for value in choices(hints_of(owner)[name])]
    if not all(choice in said for choice in offered):
        said = f"{said} One of {', '.join(offered)}."
    return said.replace("None", "null").strip()  # as YAML writes it


def has_knobs(hint: object) -> TypeGuard[type]:
    """Whether a knob has knobs of its own, as a source has."""
    return is_dataclass(hint) and isinstance(hint, type)


def choices(hint: object) -> list[object]:
    """The values that a knob of this type must be one of; none if it has a range instead."""
    literals = [part for part in _parts(hint) if get_origin(part) is Literal]
    return [value for part in literals for value in get_args(part)]


def hints_of(owner: type) -> Mapping[str, object]:
    """The knobs of a dataclass and their types, in order."""
    found = get_type_hints(owner)
    return {field.name: found[field.name] for field in _fields(owner)}


def defaults_of(owner: type) -> Mapping[str, Any]:
    """The knobs that may be left out, and what they are then."""
    found = {}
    for field in _fields(owner):
        if field.default is not MISSING:
            found[field.name] = field.default
        elif field.default_factory is not MISSING:
            found[field.name] = field.default_factory()
    return found


def schema_of(owner: type) -> Schema:
    """A dataclass as JSON schema of an object with nothing but its knobs."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: knob_schema(owner, name) for name in hints_of(owner)},
    }


def knob_schema(owner: type, name: str) -> Schema:
    """A knob as JSON schema: description, default, and choices or type and range.

    Not `anyOf` value or template: a checker could then only say that it is neither.
    """
    hint = hints_of(owner)[name]
    said: Schema = {"description": describe(owner, name)}
    if has_knobs(hint):
        return said | schema_of(hint)
    default = defaults_of(owner).get(name, EXAMPLES.get(name))
    # Dagster's tools make up values where they are shown none.
    said["examples"] = [list(default) if isinstance(default, tuple) else default]
    if name in defaults_of(owner):
        said["default"] = said["examples"][0]
    return said | {"if": IS_TEMPLATE, "else": _rule(name, hint)}


def check_knobs(owner: type, given: object, where: str) -> None:
    """Refuse what is no knob, what is missing, and values of a type that a knob never has."""
    if not isinstance(given, Mapping):
        raise InvalidParameterError(
            f"{where} must be knobs and their values; got a value of type {type(given).__name__}."
        )
    hints = hints_of(owner)
    for name in given:
        if name not in hints:
            raise InvalidParameterError(
                f"{where} must be among {', '.join(hints)}; got {name!r}. Look for a slip."
            )
    for name in hints:
        if name not in given and name not in defaults_of(owner):
            raise InvalidParameterError(
                f"{where} must have {name}; it is missing. {describe(owner, name)}"
            )
    for name, value in given.items():
        hint = hints[name]
        if has_knobs(hint):
            check_knobs(hint, value, name)
        # Choices are refused where they are listed; a template is looked at once it is filled in.
        elif not (choices(hint) or has_template(value) or _fits(value, hint)):
            wanted = " or ".join(TYPES[kind] for kind in _types(hint))
            raise InvalidParameterError(
                f"{name} must be of type {wanted}; got a value of type {type(value).__name__}."
            )


def make(owner: type[Owner], given: Mapping[str, Any]) -> Owner:
    """The dataclass with these knobs, once they are checked; it refuses what is out of range."""
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
    for name, hint in hints_of(owner).items():
        if name in given and has_knobs(hint):
            values[name] = make(hint, given[name])
    return owner(**values)


def has_template(value: object) -> bool:
    """Whether something in a value is still to be filled in."""
    if isinstance(value, Mapping):
        return any(map(has_template, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_template, value))
    return isinstance(value, str) and TEMPLATE in value


def _fields(owner: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 - dataclasses have no type
    return fields(owner)


def _parts(hint: object) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _types(hint: object) -> list[Any]:
    """The Python types of a knob's values; those of its choices too."""
    plain = [get_origin(part) or part for part in _parts(hint) if get_origin(part) is not Literal]
    return [*dict.fromkeys(map(type, choices(hint))), *plain]


def _rule(name: str, hint: object) -> Schema:
    if not all(kind in TYPES for kind in _types(hint)):
        return {}
    known = [TYPES[kind] for kind in _types(hint)]
    if offered := choices(hint):
        return {"enum": offered + [None] * ("null" in known)}
    items = {"items": {"type": "string"}} if "array" in known else {}
    return {"type": known, **items, **RANGES.get(name, {})}


def _fits(value: object, hint: object) -> bool:
    wanted = _types(hint)
    if not all(kind in TYPES for kind in wanted):
        return True
    if isinstance(value, list | tuple):
        return tuple in wanted and all(isinstance(part, str) for part in value)
    # True is an int to Python, and never meant as one; a whole number may stand for a share.
    return type(value) in wanted or (type(value) is int and float in wanted)
