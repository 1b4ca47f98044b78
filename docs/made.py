"""What the pages say of the code is made from the code: tables of knobs, and help of commands.

MkDocs calls `on_page_markdown`; `python docs/made.py` renews the table of the README.
"""

import re
from pathlib import Path
from typing import Any, Final

import click

from setanon_dagster.cli.main import main
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import defaults_of, describe, hints_of
from setanon_dagster.sources.source import Source

ROOT: Final = Path(__file__).parents[1]
OWNERS: Final[dict[str, type]] = {"ReleaseConfig": ReleaseConfig, "Source": Source}
WIDTH: Final = 90

UNSET: Final = {
    "grouper": "the method's",
    "min_owners": "k",
    "header": "found out",
    "delimiter": "found out",
    "quoting": "found out",
    "time_format": "found out",
}
"""What None stands for, where it does not stand for nothing."""


def knob_table(owner: type) -> str:
    """Every knob of a dataclass: its sentence, with its range, and its default."""
    rows = [
        f"| `{name}` | {_cell(describe(owner, name))} | {default_of(owner, name)} |"
        for name in hints_of(owner)
    ]
    return "\n".join(["| knob | what it does, and its range | default |", "|---|---|---|", *rows])


def default_of(owner: type, name: str) -> str:
    """A knob's default as a cell says it."""
    defaults = defaults_of(owner)
    if name not in defaults:
        # A release knows its source by an asset, or by a file.
        return "required"
    value = defaults[name]
    if value is None or value == ():
        return UNSET.get(name, "none")
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def command_help(name: str) -> str:
    """What a command says of itself, as a block."""
    command = main.commands[name]
    context = click.Context(
        command, info_name=f"setanon {name}", max_content_width=WIDTH, terminal_width=WIDTH
    )
    return f"```text\n{command.get_help(context)}\n```"


def all_commands() -> str:
    """The help of all commands, a section each."""
    return "\n\n".join(f"## setanon {name}\n\n{command_help(name)}" for name in main.commands)


def on_page_markdown(markdown: str, **_: Any) -> str:  # noqa: ANN401 - as MkDocs calls it
    """Fill in what is made from the code."""
    filled = re.sub(r"<!-- knobs of (\w+) -->", lambda m: knob_table(OWNERS[m[1]]), markdown)
    return re.sub(r"<!-- all commands -->", lambda _: all_commands(), filled)


def renewed(readme: str) -> str:
    """The README with its table of knobs as the code has them."""
    begin, end = "<!-- knobs -->", "<!-- /knobs -->"
    before, rest = readme.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{knob_table(ReleaseConfig)}\n\n{end}{after}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
