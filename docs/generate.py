"""Documentation generated from the code: tables of parameters, help of commands, package trees.

MkDocs calls `on_page_markdown`; `python docs/generate.py` updates the generated regions of README
and docs/architecture.md, which are readable without the site.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter as Argument
from inspect import signature
from pathlib import Path
from typing import Any, Final, get_type_hints

import click

from setanon_core import (
    anonymize,
    anonymize_baskets,
    anonymize_log,
    sweep,
    utility_of,
    verify,
)
from setanon_core.declarations import Parameter, describe, parameters_of
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.sweep import DEFAULT_KS, ReleaseOptions
from setanon_dagster.cli.main import main
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import ordered_parameters, yaml_description
from setanon_dagster.sources.source import Source

ROOT: Final = Path(__file__).parents[1]
OWNERS: Final[dict[str, type]] = {"ReleaseConfig": ReleaseConfig, "Source": Source}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (anonymize, anonymize_log, anonymize_baskets, sweep, utility_of, verify)
}
ARGUMENTS: Final = {
    "records": "The sets: collections of items, a column of lists, a table or a 0/1 matrix.",
    "log": "The queries: a data frame, an Arrow table, a mapping of columns, or rows of user, time "
    "and query.",
    "baskets": "The items: a data frame, an Arrow table or a mapping of columns, one row per item.",
    "data": "What `anonymize_log` or `anonymize_baskets` takes.",
    "users": "The user of each record, by position; None: every record has its own user.",
    "user": "Column of the users of a table; None: every record has its own user.",
    "time": "Column of the times of a table: datetimes, dates, ISO texts, or numbers, such as "
    "milliseconds.",
    "query": "Column of the queries of a table.",
    "record": "Column of the records of a table, such as receipt numbers.",
    "item": "Column of the items of a table, one per row.",
    "user of anonymize_log": "Column of the users of a table.",
    "k of sweep": "Values of k: a number, or several. Each at least 2.",
    "user of sweep": 'Column of the users; None: "user" of a log, none of baskets.',
    "item of sweep": "Column of the items: the table has baskets; None: it is a log.",
    "user of utility_of": 'Column of the users; None: "user" of a log, none of baskets.',
    "item of utility_of": "Column of the items: the table has baskets; None: it is a log.",
}
"""Descriptions of the arguments of the core that are not parameters of `ReleaseParams`."""

WIDTH: Final = 90
PACKAGES: Final = ("setanon_core", "setanon_dagster")
COLUMN: Final = 34
"""Width of the module names in a package tree."""


def parameter_table(owner: type) -> str:
    """A table of all parameters of a dataclass: description with range, and default."""
    rows = [
        f"| `{each.name}` | {_cell(yaml_description(owner, each.name))} | {default_cell(each)} |"
        for each in ordered_parameters(owner)
    ]
    return "\n".join(["| parameter | description | default |", "|---|---|---|", *rows])


def default_cell(parameter: Parameter) -> str:
    """The default of a parameter as YAML writes it."""
    if parameter.required:
        return "required"
    value = parameter.default
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{list(value) if isinstance(value, tuple) else value}`"


def argument_table(function: Callable[..., Any]) -> str:
    """A table of all arguments of a function of the core."""
    found = signature(function).parameters
    options = get_type_hints(ReleaseOptions) if "params" in found else {}
    fields = parameters_of(ReleaseParams)
    rows = []
    for name in [*(name for name in found if name != "params"), *options]:
        default = found[name].default if name in found else fields[name].default
        special = ARGUMENTS.get(f"{name} of {function.__name__}") or ARGUMENTS.get(name)
        text = special or describe(ReleaseParams, name)
        shown = f"`{default!r}`"
        if default is Argument.empty:
            shown = "required"
        elif name == "secret":
            shown = "random"
        elif default is DEFAULT_KS:
            shown = "2 to 20"
        rows.append(f"| `{name}` | {_cell(text)} | {shown} |")
    return "\n".join(["| argument | description | default |", "|---|---|---|", *rows])


def command_help(name: str) -> str:
    """The help of a command, as a code block."""
    command = main.commands[name]
    context = click.Context(
        command, info_name=f"setanon {name}", max_content_width=WIDTH, terminal_width=WIDTH
    )
    return f"```text\n{command.get_help(context)}\n```"


def all_commands() -> str:
    """The help of all commands, one section per command."""
    return "\n\n".join(f"## setanon {name}\n\n{command_help(name)}" for name in main.commands)


def on_page_markdown(markdown: str, **_: Any) -> str:  # noqa: ANN401 - signature set by MkDocs
    """Replace the markers in a page by generated text."""
    markdown = re.sub(
        r"<!-- parameters of (\w+) -->", lambda match: parameter_table(OWNERS[match[1]]), markdown
    )
    markdown = re.sub(
        r"<!-- arguments of (\w+) -->",
        lambda match: argument_table(FUNCTIONS[match[1]]),
        markdown,
    )
    return re.sub(r"<!-- all commands -->", lambda _: all_commands(), markdown)


def package_tree(package: str) -> str:
    """All modules of a package with the first line of their docstrings, as a code block."""
    return "\n".join(["```text", f"{package}/", *_entries(ROOT / package, "  "), "```"])


def _entries(folder: Path, indent: str) -> Iterator[str]:
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.is_dir() and (path / "__init__.py").exists():
            yield _entry(f"{indent}{path.name}/", path / "__init__.py")
            yield from _entries(path, indent + "  ")
        elif path.suffix == ".py" and path.name != "__init__.py":
            yield _entry(f"{indent}{path.stem}", path)


def _entry(name: str, path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    summary = docstring.partition("\n\n")[0].replace("\n", " ").rstrip(".")
    return f"{name:<{COLUMN}} {summary}"


def updated(text: str) -> str:
    """The text with new contents in its generated regions."""
    regions = {"parameters": lambda: parameter_table(ReleaseConfig)} | {
        f"tree of {package}": partial(package_tree, package) for package in PACKAGES
    }
    for name, generate in regions.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        if begin in text:
            before, rest = text.split(begin)
            _, after = rest.split(end)
            text = f"{before}{begin}\n\n{generate()}\n\n{end}{after}"
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for page in (ROOT / "README.md", ROOT / "docs" / "architecture.md"):
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
