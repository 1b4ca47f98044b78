"""The README: its commands, Python, YAML, printed result and parameter table are correct."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from setanon_dagster.cli.main import main
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.config_schema import (
    build_config,
    check_attributes,
    ordered_parameters,
    yaml_description,
)
from setanon_dagster.demo.log import write_demo_log

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture
def _log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")


@pytest.mark.slow
@pytest.mark.usefixtures("_log")
def test_commands_run_in_order(tmp_path):
    (block,) = [block for block in blocks("sh") if "setanon release" in block]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    commands = [line[1:] for line in lines if line and line[0] == "setanon"]

    assert [command[0] for command in commands] == ["sweep", "release", "verify"]
    for command in commands:
        assert CliRunner().invoke(main, command).exit_code == 0, command
    assert (tmp_path / "out" / "releases" / "searches" / "latest").is_symlink()


def test_the_example_is_what_its_page_says(tmp_path):
    write_demo_log(tmp_path / "log.tsv", users=1000, seed=7)
    assert (tmp_path / "log.tsv").read_bytes() == (ROOT / "examples" / "searches.tsv").read_bytes()


@pytest.mark.usefixtures("_log")
def test_python_definitions_load():
    (block,) = [block for block in blocks("python") if "build_setanon_definitions" in block]
    names = {}
    exec(block, names)  # noqa: S102 - our own README

    assert names["defs"].resolve_job_def("searches_release_job").name == "searches_release_job"


def test_yaml_is_a_valid_component():
    (block,) = blocks("yaml")
    component = yaml.safe_load(block)

    assert component["type"] == "setanon_dagster.SetanonReleaseComponent"
    check_attributes(ReleaseConfig, component["attributes"], "attributes")
    assert build_config(ReleaseConfig, component["attributes"]).k == 3


def test_make_targets_exist():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE))

    assert {"release", "test", "ui", "check", "docs", "bench"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


@pytest.mark.slow
def test_shown_result_is_printed_by_the_demo(tmp_path):
    (shown,) = [block for block in blocks("text") if block.startswith("demo-…")]
    printed = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)]).output

    for line in shown.splitlines():
        assert line.removeprefix("demo-…") in printed, line


def test_parameter_table_is_up_to_date():
    table = README.split("<!-- parameters -->")[1].split("<!-- /parameters -->")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*?) \|$", table, re.MULTILINE)
    parameters = {each.name: each for each in ordered_parameters(ReleaseConfig)}

    assert [name for name, _, _ in rows] == list(parameters), "run: python docs/generate.py"
    for name, description, default in rows:
        assert description == yaml_description(ReleaseConfig, name), "run: python docs/generate.py"
        if parameters[name].required:
            assert default == "required"
        else:
            assert yaml.safe_load(default.strip("`")) == _as_yaml(parameters[name].default)


def _as_yaml(value):
    return list(value) if isinstance(value, tuple) else value
