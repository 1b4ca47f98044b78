"""Every page that shows commands is followed to the letter: its files, its commands, its output.

A block with a title is a file, a block of `sh` is run line by line, and a block of `text` below is
what was printed: each of its lines, where `…` stands for anything. `# refused` ends a line whose
exit code must be 1.
"""

import contextlib
import io
import os
import re
import runpy
import secrets
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from setanon_dagster.cli.main import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    page
    for page in sorted((DOCS / "how-to").glob("*.md"))
    if "```" in page.read_text(encoding="utf-8")
]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
SHOWN = {"csv", "python", "sh", "text", "toml", "yaml"}

# Installing is what has happened before a test runs, and a server does not end.
NOT_RUN = ("pip install ", "dagster dev ")
MODULES = {"dg": "dagster_dg_cli.cli", "dagster": "dagster"}
LONGEST = 120


class Follower:
    """Does what a page says, in a folder of its own."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.environment = monkeypatch
        self.printed = ""

    def follow(self, language, title, text):
        assert language in SHOWN, language
        if title:
            path = self.folder / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "text":
            for line in text.splitlines():
                pattern = re.escape(line.rstrip()).replace("…", ".*")
                assert re.search(rf"^{pattern}\s*$", self.printed, re.MULTILINE), line
        elif language == "sh":
            joined = text.replace("\\\n", " ")
            self.printed = "".join(self.run(line) for line in joined.splitlines() if line)
        else:
            assert language == "python", f"a block of {language} must have a title"
            with printing() as output:
                exec(text, {})  # noqa: S102 - our own page
            self.printed = output.getvalue()

    def run(self, line):
        if line.startswith(NOT_RUN):
            return ""
        name, *arguments = shlex.split(os.path.expandvars(line), comments=True)
        if name == "export":
            self.export(arguments[0], line)
            return ""
        if name == "mkdir":
            assert arguments.pop(0) == "-p"
            Path(arguments[0]).mkdir(parents=True, exist_ok=True)
            return ""
        if name == "python":
            with printing() as output:
                runpy.run_path(arguments[0], run_name="__main__")
            return output.getvalue()
        if name in MODULES:
            return run_apart([sys.executable, "-m", MODULES[name], *arguments])
        assert name == "setanon", line
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == line.endswith("# refused"), result.output
        return result.output

    def export(self, assignment, line):
        name, _, value = assignment.partition("=")
        if "openssl rand" in line:
            value = secrets.token_hex(32)
        assert "$" not in value, line
        self.environment.setenv(name, value)


def printing():
    return contextlib.redirect_stdout(io.StringIO())


def run_apart(command):
    # No network: Dagster would count its users.
    quiet = {"DAGSTER_DISABLE_TELEMETRY": "1", "NO_COLOR": "1"}
    path = os.pathsep.join((str(Path.cwd()), str(ROOT)))
    done = subprocess.run(  # noqa: S603 - our own page
        command,
        env={**os.environ, **quiet, "HOME": str(Path.cwd()), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def follow(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    follower = Follower(folder, monkeypatch)
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        follower.follow(*block)


def test_the_tutorial_makes_one_release_in_three_ways(tmp_path, monkeypatch):
    pytest.importorskip("dagster_dg_cli")
    follow(DOCS / "tutorial.md", tmp_path, monkeypatch)
    releases = tmp_path / "out" / "releases"

    # Command line, Python and YAML: the same bytes have the same name.
    assert len([path for path in releases.iterdir() if not path.is_symlink()]) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    follow(page, tmp_path, monkeypatch)


def test_every_page_with_a_block_is_followed():
    shown = {path for path in DOCS.rglob("*.md") if "```sh\n" in path.read_text(encoding="utf-8")}

    # The benchmarks take longer than any test may.
    assert shown <= {*PAGES, DOCS / "tutorial.md", DOCS / "benchmarks.md"}
