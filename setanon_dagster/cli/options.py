"""Command line options derived from the parameter declarations: help, type, default and metavar."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import click

from setanon_core.declarations import Parameter, describe, parameters_of
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import ordered_parameters
from setanon_dagster.sources.source import ColumnRange, DelimiterRange, Source

F = TypeVar("F", bound=Callable[..., Any])

NOT_OPTIONS: Final = frozenset(
    # Arguments of the commands, and the Dagster-only parameters.
    {"uri", "source", "out", "upstream", "partition", "start", "cron", "owners"}
    | {"spark_settings", "spark_submit", "in_process"}
)

RELEASE_ONLY: Final = frozenset(
    {"name", "format", "engine", "workers", "memory_limit", "report", "show_threads", "approval"}
    | {"signature", "spark_master"}
)
"""Parameters without effect on the dry runs: these publish nothing and use no engine."""

MAX_RANGE: Final = 1000
"""Largest number of k in one range; larger ranges are probably typos."""


def parameter_options(*, exclude: Iterable[str] = ()) -> Callable[[F], F]:
    """Decorate a command with an option for each parameter of a release and of its source."""
    excluded = NOT_OPTIONS | frozenset(exclude)
    options = [
        _option(owner, parameter)
        for owner in (ReleaseConfig, Source)
        for parameter in ordered_parameters(owner)
        if parameter.name not in excluded
    ]

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def k_option(**settings: Any) -> Callable[[F], F]:  # noqa: ANN401 - any setting of click.option
    """Decorate a command without a config with the option `--k`; `settings` are those of click."""
    return _option(ReleaseConfig, parameters_of(ReleaseConfig)["k"], **settings)


def config_of(uri: tuple[str, ...], out: str, values: Mapping[str, Any]) -> ReleaseConfig:
    """Build the config from the options; bad values and missing files raise before any reading."""
    of_source = parameters_of(Source).keys() & values.keys()
    source = Source(uri[0] if len(uri) == 1 else uri, **{name: values[name] for name in of_source})
    of_release = {name: value for name, value in values.items() if name not in of_source}
    if of_release.get("name") is None:
        # Not the file name: the name is published, and a file name may be private.
        of_release["name"] = source.kind
    config = ReleaseConfig(source=source, out=out, **of_release)
    config.params()  # checks the secret in the environment
    try:
        _ = source.paths
    except MalformedInputError as error:  # a missing file is a bad argument here: exit code 2
        raise InvalidParameterError(str(error)) from None
    return config


def parse_ks(_: click.Context, __: click.Parameter, value: str) -> tuple[int, ...]:
    """Parse numbers and ranges of k, such as 2..20 or 2,5,10 or 3; sorted, without duplicates."""
    ks: set[int] = set()
    for part in value.split(","):
        match = re.fullmatch(r"\s*(\d{1,9})(?:\.\.(\d{1,9}))?\s*", part, re.ASCII)
        low, high = (int(end or match[1]) for end in match.groups()) if match else (1, 0)
        if low > high or high - low >= MAX_RANGE:
            raise InvalidParameterError(
                "k must be a number, a range or a list of both, such as 3, 2..20 or 2,5,10, with "
                f"at most {MAX_RANGE} numbers per range."
            )
        ks.update(range(low, high + 1))
    return tuple(sorted(ks))


def _option(owner: type, parameter: Parameter, **changes: Any) -> Callable[[F], F]:  # noqa: ANN401
    """The option of one parameter. Values are checked by the dataclass, not by click."""
    name = parameter.name
    flag = "--" + name.replace("_", "-")
    settings: dict[str, Any] = {"help": _help(owner, parameter)}
    if name == "name":
        settings |= {"default": None, "show_default": "the kind of the source"}
    elif parameter.required:
        settings["required"] = True
    else:
        settings |= {"default": parameter.default, "show_default": parameter.default is not None}
    if bool in parameter.types:
        # With the default None, both True and False need a flag.
        no_flag = "" if parameter.default is False else f"/--no-{flag.removeprefix('--')}"
        settings["show_default"] = False
        return click.option(flag + no_flag, name, is_flag=True, **settings)
    if parameter.choices:
        # Not click.Choice: the error of the dataclass is more precise.
        settings["metavar"] = "|".join(parameter.choices)
    elif isinstance(parameter.range, ColumnRange):
        settings |= {"callback": _parse_column, "metavar": "NAME|POSITION"}
    elif isinstance(parameter.range, DelimiterRange):
        settings |= {"callback": _parse_delimiter, "metavar": "CHARACTER"}
    elif tuple in parameter.types:
        settings |= {"callback": parse_list, "default": None, "metavar": "LIST"}
        settings["show_default"] = False
    else:
        settings["type"] = parameter.types[0]
    return click.option(flag, name, **{**settings, **changes})


def parse_list(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Split a list at commas, such as week,hour; without the option, it is empty."""
    return tuple(each.strip() for each in value.split(",")) if value else ()


def _parse_column(_: click.Context, param: click.Parameter, value: object) -> object:
    """Digits are a position, other text is a name; an empty user column is None."""
    if not isinstance(value, str):
        return value
    if not value and param.name == "user_column":
        return None
    return int(value) if value.isascii() and value.isdigit() else value


def _parse_delimiter(_: click.Context, __: click.Parameter, value: object) -> object:
    r"""Replace \t by a tab, which is hard to type in a shell."""
    return "\t" if value == r"\t" else value


def _help(owner: type, parameter: Parameter) -> str:
    """The description in the terms of the command line: an option left out has the value None."""
    # An option whose default is another value takes '' for None.
    none = "default:" if parameter.default is None else "'':"
    return describe(owner, parameter.name).replace("`", "").replace("None:", none)
