"""Run the code blocks of all pages with commands: files, commands and shown output are correct.

A block with a title is written to a file. A block of `sh` is run line by line. Each line of a block
of `text` must be in the output of the block before it; `…` matches any text. A command that ends
with `# refused` must have exit code 1. A block of `console` is not run: it shows names that differ
from run to run.
"""

import contextlib
import io
import os
import re
import runpy
import secrets
import shlex
import shutil
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
LANGUAGES = {"csv", "python", "sh", "text", "toml", "yaml"}

# The package is already installed, and a server does not end.
NOT_RUN = ("pip install ", "dg dev")
COMMANDS = {
    "dg": (sys.executable, "-m", "dagster_dg_cli.cli"),
    "dagster": (sys.executable, "-m", "dagster"),
    "openssl": ("openssl",),
}
TIMEOUT = 120
"""Seconds per command."""


class BlockRunner:
    """Runs the code blocks of one page in a folder."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder
        self.monkeypatch = monkeypatch
        self.output = ""
        """Output of the last block that was run."""

    def run_block(self, language, title, text):
        if language == "console":
            return
        assert language in LANGUAGES, language
        if title:
            path = self.folder / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif language == "text":
            for line in text.splitlines():
                pattern = re.escape(line.rstrip()).replace("…", ".*")
                assert re.search(rf"^{pattern}\s*$", self.output, re.MULTILINE), line
        elif language == "sh":
            joined = text.replace("\\\n", " ")
            self.output = "".join(self.run_line(line) for line in joined.splitlines() if line)
        else:
            assert language == "python", f"a block of {language} must have a title"
            with captured_stdout() as output:
                exec(text, {})  # noqa: S102 - our own page
            self.output = output.getvalue()

    def run_line(self, line):
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
            with captured_stdout() as output:
                runpy.run_path(arguments[0], run_name="__main__")
            return output.getvalue()
        if name in COMMANDS:
            return run_process([*COMMANDS[name], *arguments])
        assert name == "setanon", line
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == line.endswith("# refused"), result.output
        return result.output

    def export(self, assignment, line):
        name, _, value = assignment.partition("=")
        if "openssl rand" in line:
            value = secrets.token_hex(32)
        assert "$" not in value, line
        self.monkeypatch.setenv(name, value)


def captured_stdout():
    return contextlib.redirect_stdout(io.StringIO())


def run_process(command):
    # Dagster's telemetry needs a network.
    settings = {"DAGSTER_DISABLE_TELEMETRY": "1", "NO_COLOR": "1"}
    path = os.pathsep.join((str(Path.cwd()), str(ROOT)))
    completed = subprocess.run(  # noqa: S603 - our own page
        command,
        env={**os.environ, **settings, "HOME": str(Path.cwd()), "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    assert completed.returncode == 0, completed.stdout
    return completed.stdout


def run_page(page, folder, monkeypatch):
    if "\nopenssl" in page.read_text(encoding="utf-8") and shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    shutil.copytree(ROOT / "examples", folder / "examples")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PWD", str(folder))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    runner = BlockRunner(folder, monkeypatch)
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        runner.run_block(*block)


def test_tutorial_publishes_the_same_release_in_three_ways(tmp_path, monkeypatch):
    pytest.importorskip("dagster_dg_cli")
    run_page(DOCS / "tutorial.md", tmp_path, monkeypatch)
    releases = tmp_path / "out" / "releases"

    # Command line, Python and YAML publish equal bytes, so there is one release name.
    assert len([path for path in releases.glob("*/*") if not path.is_symlink()]) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_page_print_the_shown_output(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)


def test_all_pages_with_commands_are_run():
    pages = {path for path in DOCS.rglob("*.md") if "```sh\n" in path.read_text(encoding="utf-8")}

    # The benchmarks take too long for a test.
    benchmarks = {DOCS / "benchmarks.md", DOCS / "scale.md"}
    assert pages <= {*PAGES, DOCS / "tutorial.md", *benchmarks}
