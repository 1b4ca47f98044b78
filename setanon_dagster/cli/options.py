"""Options of the commands, made from the knobs: their sentences, their defaults, one list."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, TypeVar, get_args

import click

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import choices, defaults_of, hints_of, sentences
from setanon_dagster.sources.source import Source

F = TypeVar("F", bound=Callable[..., Any])

NOT_OPTIONS: Final = frozenset(
    # What the commands have arguments for, and what only a definition of Dagster needs.
    {"uri", "source", "out", "upstream", "partition", "start", "cron", "owners"}
)

SAID: Final[Mapping[str, str]] = {
    "name": "Names the release in public: lower case letters, digits and _; its kind by default.",
    "user_column": "Column of the users, by name or by position from 0; '' for baskets without.",
    "table": "Table or view of SOURCE, a DuckDB file; with its schema if need be: schema.table.",
}
"""Where a field has a sentence for Python only."""

MOST_KS: Final = 1000
"""Of a range: more are a slip of the finger."""


def knob_options(*, but: Iterable[str] = ()) -> Callable[[F], F]:
    """Decorate a command with an option for every knob of a release and of its source."""
    left_out = NOT_OPTIONS | frozenset(but)
    owners = (ReleaseConfig, Source)
    made = [_option(own, name) for own in owners for name in hints_of(own) if name not in left_out]

    def decorate(command: F) -> F:
        for option in reversed(made):
            command = option(command)
        return command

    return decorate


def config_of(uri: tuple[str, ...], out: str, given: Mapping[str, Any]) -> ReleaseConfig:
    """What is asked for; refused before anything is read, if it is out of range or missing."""
    of_source = {field.name for field in fields(Source)} & given.keys()
    source = Source(uri[0] if len(uri) == 1 else uri, **{name: given[name] for name in of_source})
    rest = {name: value for name, value in given.items() if name not in of_source}
    if rest.get("name") is None:
        # Not after the file: its name may be nobody's business.
        rest["name"] = source.kind
    config = ReleaseConfig(source=source, out=out, **rest)
    config.params()  # the secret of the environment must do, too
    try:
        _ = source.paths
    except MalformedInputError as error:  # nobody has read anything yet: it is the argument
        raise InvalidParameterError(str(error)) from None
    return config


def several_k(_: click.Context, __: click.Parameter, value: str) -> tuple[int, ...]:
    """Ranges and single ones: 2..20, or 2,5,10, or 3."""
    found: set[int] = set()
    for part in value.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part, re.ASCII)
        low, high = (int(end or match[1]) for end in match.groups()) if match else (1, 0)
        if low > high or high - low >= MOST_KS:
            raise InvalidParameterError(
                "k must be a number, a range or several of them, such as 3, 2..20 or 2,5,10, of at "
                f"most {MOST_KS} numbers each."
            )
        found.update(range(low, high + 1))
    return tuple(sorted(found))


def _option(owner: type, name: str) -> Callable[[F], F]:
    """An option of a knob's name, type and default; what is out of range, the knob refuses."""
    hint, defaults = hints_of(owner)[name], defaults_of(owner)
    flag, default = "--" + name.replace("_", "-"), defaults.get(name)
    told: dict[str, Any] = {"help": _told(owner, name)}
    if name in defaults or name == "name":
        told["default"] = default
    else:
        told["required"] = True
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        # Where nothing is a third answer, there must be a way to say no.
        names = flag if default is False else f"{flag}/--no-{flag.removeprefix('--')}"
        return click.option(names, name, is_flag=True, **told)
    if offered := choices(hint):
        # Not click's own choice: the knob itself says what is allowed, and why.
        told["metavar"] = "|".join(map(str, offered))
    elif name.endswith("_column"):
        told |= {"callback": _column, "metavar": "NAME|POSITION"}
    elif name == "delimiter":
        told |= {"callback": _delimiter, "metavar": "CHARACTER"}
    else:
        told["type"] = kinds[0]
    return click.option(flag, name, show_default=default is not None, **told)


def _column(_: click.Context, param: click.Parameter, value: object) -> object:
    """The name of a column, or its position; no letters at all stand for no user."""
    if not isinstance(value, str):
        return value
    if not value and param.name == "user_column":
        return None
    return int(value) if value.isascii() and value.isdigit() else value


def _delimiter(_: click.Context, __: click.Parameter, value: object) -> object:
    r"""One character; shells make it hard to type a tab, so \t is one."""
    return "\t" if value == r"\t" else value


def _told(owner: type, name: str) -> str:
    """What a knob is for, as one says it on a command line."""
    text = SAID.get(name, sentences(owner).get(name, "")).replace("`", "")
    text = re.sub(r'(\w+)="(\w+)"', r"--\1 \2", re.sub(r"^None:", "Left out:", text))
    return text.replace("None:", "left out:")
