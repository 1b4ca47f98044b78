"""Documentation generated from the code: tables of parameters, and the help of the commands.

MkDocs calls `on_page_markdown`; `python docs/generate.py` updates the table in the README.
"""

import re
from pathlib import Path
from typing import Any, Final

import click

from setanon_core.declarations import Parameter
from setanon_dagster.cli.main import main
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import ordered_parameters, yaml_description
from setanon_dagster.sources.source import Source

ROOT: Final = Path(__file__).parents[1]
OWNERS: Final[dict[str, type]] = {"ReleaseConfig": ReleaseConfig, "Source": Source}
WIDTH: Final = 90
BEGIN: Final = "<!-- parameters -->"
END: Final = "<!-- /parameters -->"


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
    return re.sub(r"<!-- all commands -->", lambda _: all_commands(), markdown)


def updated_readme(readme: str) -> str:
    """The README with a new table of parameters."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{parameter_table(ReleaseConfig)}\n\n{END}{after}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(updated_readme(path.read_text(encoding="utf-8")), encoding="utf-8")
