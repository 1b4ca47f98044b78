"""The `dg` command in a project that uses the component."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.components import STAGES, TYPE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project of a user of the component, and a function that runs `dg` in it."""
    root = tmp_path_factory.mktemp("shop")
    package = root / "src" / "shop"
    (package / "defs").mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[project]\nname = "shop"\nversion = "0.1.0"\n'
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "shop"\n'
    )
    (package / "__init__.py").touch()
    (package / "defs" / "__init__.py").touch()
    (package / "definitions.py").write_text(
        "from pathlib import Path\n\nimport dagster as dg\n\n\n@dg.definitions\ndef defs():\n"
        "    return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)\n"
    )
    (root / "home").mkdir()
    (root / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    # The entry points of pyproject.toml, which may differ from the installed ones.
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (installed := root / "site" / "probe-0.dist-info").mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 0\n")
    (installed / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in groups.items()
        )
    )

    def run(*arguments):
        return subprocess.run(  # noqa: S603
            [sys.executable, "-m", "dagster_dg_cli.cli", *arguments],
            cwd=root,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(map(str, (root / "src", root / "site", ROOT))),
                "DAGSTER_HOME": str(root / "home"),
                "HOME": str(root / "home"),
                "NO_COLOR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return root, run


def test_dg_lists_scaffolds_checks_and_loads_the_component(project):
    root, run = project
    listed = json.loads(run("list", "components", "--json").stdout)["items"]
    assert TYPE in {item["key"] for item in listed}

    scaffolded = run("scaffold", "defs", TYPE, "searches", "--source", "data/log.tsv", "--k", "4")
    assert scaffolded.returncode == 0, scaffolded.stderr
    assert "k: 4" in (root / "src/shop/defs/searches/defs.yaml").read_text()

    assert run("check", "yaml").returncode == 0
    definitions = json.loads(run("list", "defs", "--json").stdout)
    assert {asset["asset_key"] for asset in definitions["assets"]} == {
        f"searches/{stage}" for stage in STAGES
    }


def test_dg_check_yaml_prints_each_error_with_its_line(project):
    root, run = project
    path = root / "src" / "shop" / "defs" / "wrong" / "defs.yaml"
    path.parent.mkdir()
    path.write_text(
        f"type: {TYPE}\nattributes:\n  name: wrong\n  k: 1\n  method: foo\n  out: out\n"
    )
    checked = run("check", "yaml", str(path.parent.parent))
    path.unlink()
    path.parent.rmdir()
    assert checked.returncode == 1
    for message in (
        "defs.yaml:4",
        "1 is less than the minimum of 2",
        "'foo' is not one of ['best', 'paper']",
        "'source' is a required property",
    ):
        assert message in checked.stdout
