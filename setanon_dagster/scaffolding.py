"""What `dg scaffold defs` writes for a release: a file that loads, with every knob explained."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, Final, Self

import dagster as dg
from pydantic import BaseModel, Field, model_validator

from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import (
    EXAMPLES,
    check_knobs,
    defaults_of,
    describe,
    has_knobs,
    hints_of,
    make,
)
from setanon_dagster.sources.source import Kind

HEAD: Final = """\
# A k-anonymous release of a search log, or of baskets. Every knob is here: those behind a # have
# the value that is shown. Relative paths begin at the root of the project. The key of the thread
# ids comes from the environment, as SETANON_SECRET; without it, ids are new in each release.
"""


class ScaffoldParams(BaseModel):
    """What is asked before a release is scaffolded."""

    name: str | None = Field(None, description="Name of the release; that of its folder if none.")
    source: str = Field(EXAMPLES["uri"], description="Path of the data, from the project's root.")
    kind: Kind = Field("log", description="What the data are: a log, or baskets.")
    k: int = Field(EXAMPLES["k"], description=describe(ReleaseConfig, "k"))
    out: str = Field(EXAMPLES["out"], description=describe(ReleaseConfig, "out"))

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse here what would be refused when the file is loaded."""
        given = self.attributes("unnamed")
        check_knobs(ReleaseConfig, given, "attributes")
        make(ReleaseConfig, given)
        return self

    def attributes(self, folder: str) -> dict[str, Any]:
        """The attributes of the component to be."""
        plain = re.sub(r"[^a-z0-9]+", "_", folder.lower()).strip("_")
        named = plain if plain[:1].isalpha() else f"release_{plain}".strip("_")
        source = {"uri": self.source, "kind": self.kind}
        return {"name": self.name or named, "source": source, "k": self.k, "out": self.out}


class ReleaseScaffolder(dg.Scaffolder[ScaffoldParams]):
    """Writes a release with every knob in it, commented."""

    @classmethod
    def get_scaffold_params(cls) -> type[ScaffoldParams]:
        """Source and k may be given on the command line."""
        return ScaffoldParams

    def scaffold(self, request: dg.ScaffoldRequest[ScaffoldParams]) -> None:
        """Write `defs.yaml`, or `component.py` if Python is asked for."""
        folder = request.target_path.parent if request.append else request.target_path
        given = request.params.attributes(folder.name)
        if request.scaffold_format == "python":
            text = _python(request.type_name, given)
            (request.target_path / "component.py").write_text(text, encoding="utf-8")
            return
        lines = commented(ReleaseConfig, given, "  ")
        text = f"{HEAD}type: {request.type_name}\n\nattributes:\n" + "\n".join(lines) + "\n"
        if request.append:
            with request.target_path.open("a", encoding="utf-8") as file:
                file.write(f"---\n{text}")
        else:
            (request.target_path / "defs.yaml").write_text(text, encoding="utf-8")


def commented(owner: type, given: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Lines of YAML: what is given, and as comments all sentences and all other knobs."""
    for name, hint in hints_of(owner).items():
        yield from textwrap.wrap(
            describe(owner, name), 96, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        if has_knobs(hint):
            yield f"{indent}{name}:"
            yield from commented(hint, given[name], indent + "  ")
        elif name in given:
            yield f"{indent}{name}: {_yaml(given[name])}"
        else:
            yield f"{indent}#{name}: {_yaml(defaults_of(owner)[name])}"


def _yaml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # which is YAML, and quotes what must be


def _python(type_name: str, given: Mapping[str, Any]) -> str:
    module, _, name = type_name.rpartition(".")
    source = ", ".join(f"{knob}={value!r}" for knob, value in given["source"].items())
    return f"""\
import dagster as dg
from {module} import {name}
from setanon_dagster import Source


@dg.component_instance
def load(context: dg.ComponentLoadContext) -> {name}:
    return {name}(
        name={given["name"]!r},
        source=Source({source}),
        k={given["k"]!r},
        out={given["out"]!r},
    )
"""
