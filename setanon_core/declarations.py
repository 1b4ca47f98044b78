"""Parameters declared once, as dataclass fields: name, type, range, default and description.

    k: Annotated[int, AtLeast(2)]
    "Users who must share every published set."  # a docstring, under the field

Checks, JSON schema, command line options and documentation are derived from these declarations.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from setanon_core.ranges import Range, check_choice


@dataclass(frozen=True, slots=True)
class Parameter:
    """One field of a dataclass, as declared."""

    name: str
    types: tuple[Any, ...]
    """Python types of its values, `NoneType` included; `str` for choices."""

    choices: tuple[str, ...]
    """The values that it may have; empty if it has no list of choices."""

    range: Range | None
    """The range of its values; None: any value of its types."""

    field: Field[Any]

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.field.default is MISSING and self.field.default_factory is MISSING

    @property
    def default(self) -> Any:  # noqa: ANN401 - a value of any of its types
        """Its default; None if it is required."""
        if self.field.default_factory is not MISSING:
            return self.field.default_factory()
        return None if self.required else self.field.default

    @property
    def nested(self) -> type | None:
        """The dataclass of its values, if it has parameters itself."""
        kinds = (kind for kind in self.types if isinstance(kind, type) and is_dataclass(kind))
        return next(kinds, None)

    def check(self, value: object) -> object:
        """Return the value to store; raise `InvalidParameterError` if it is not allowed."""
        if value is None and NoneType in self.types:
            return None
        if self.choices:
            return check_choice(self.name, value, self.choices)
        return value if self.range is None else self.range.check(self.name, value)


@cache
def parameters_of(cls: type) -> Mapping[str, Parameter]:
    """The parameters of a dataclass and its bases by name, in the order of the fields."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: _parameter(field, hints[field.name]) for field in _fields(cls)}


def check_parameters(instance: object) -> None:
    """Check every field of a new frozen dataclass by its declaration; store what the check returns.

    To be called by `__post_init__`.
    """
    cls: type = type(instance)
    for name, parameter in parameters_of(cls).items():
        object.__setattr__(instance, name, parameter.check(getattr(instance, name)))


@cache
def descriptions(cls: type) -> Mapping[str, str]:
    """The docstring under each field of a dataclass and its bases, on one line.

    Python does not store these docstrings: they are read from the source code.
    """
    docstrings: dict[str, str] = {}
    for base in reversed([base for base in cls.__mro__ if is_dataclass(base)]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        except (OSError, TypeError):
            continue  # installed without source code
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, docstring in pairwise(body):
            match field, docstring:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docstrings[name] = " ".join(text.split())
    return docstrings


def describe(cls: type, name: str) -> str:
    """Return the description of a parameter, followed by its choices or its range."""
    parameter = parameters_of(cls)[name]
    sentences = [descriptions(cls).get(name, "")]
    if not all(choice in sentences[0] for choice in parameter.choices):
        sentences.append(f"One of {', '.join(parameter.choices)}.")
    if parameter.range is not None:
        text = parameter.range.text
        sentences.append(f"{text[0].upper()}{text[1:]}.")
    return " ".join(sentences).strip()


def _parameter(field: Field[Any], hint: object) -> Parameter:
    members = list(_members(hint))
    choices = [value for part in members if get_origin(part) is Literal for value in get_args(part)]
    types = [str if get_origin(part) is Literal else get_origin(part) or part for part in members]
    range_ = next(_ranges(hint), None)
    return Parameter(field.name, tuple(dict.fromkeys(types)), tuple(choices), range_, field)


def _members(hint: object) -> Iterator[Any]:
    """The members of a union, without their annotations."""
    if get_origin(hint) is Annotated:
        yield from _members(get_args(hint)[0])
    elif get_origin(hint) in {Union, UnionType}:
        for part in get_args(hint):
            yield from _members(part)
    else:
        yield hint


def _ranges(hint: object) -> Iterator[Range]:
    if get_origin(hint) is Annotated:
        yield from (mark for mark in get_args(hint)[1:] if isinstance(mark, Range))
    elif get_origin(hint) in {Union, UnionType}:
        for part in get_args(hint):
            yield from _ranges(part)


def _fields(cls: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 - no public type for dataclasses
    return tuple(field for field in fields(cls) if field.init)
