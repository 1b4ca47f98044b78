"""The demo: its command, its configuration and its Dagster definitions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from setanon_dagster.cli.main import main
from setanon_dagster.demo import release

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_demo_is_released_and_a_sample_is_printed(tmp_path):
    pytest.importorskip("great_expectations")
    arguments = ["demo", "--users", "300", "--k", "4", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "Synthetic log: 300 users, 1,507 queries." in result.stderr
    sample = result.stdout.partition("Sample of the published threads:")[2].strip().splitlines()
    assert len(sample) == 5
    assert all(int(line.rpartition("(")[2].split()[0]) >= 4 for line in sample)
    latest = tmp_path / "releases" / "demo" / "latest"
    assert CliRunner().invoke(main, ["verify", str(latest), "--k", "4"]).exit_code == 0
    assert CliRunner().invoke(main, [*arguments, "--users", "0"]).exit_code == 2


def test_log_is_written_when_it_is_read_not_when_it_is_configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SETANON_DEMO", raising=False)
    monkeypatch.setattr(release, "USERS", 20)
    config = release.demo_config(release.demo_folder())
    assert not list(tmp_path.iterdir())
    (log,) = config.source.paths
    assert log == tmp_path / ".setanon-demo" / "demo_log.tsv"
    written = log.stat()
    assert config.source.paths == [log]
    assert log.stat() == written


@pytest.mark.slow
def test_workspace_has_the_assets_of_the_demo_and_loading_writes_nothing(tmp_path):
    script = (
        "import yaml, importlib, sys\n"
        "(entry,) = yaml.safe_load(open(sys.argv[1]))['load_from']\n"
        "defs = importlib.import_module(entry['python_module']).defs\n"
        "print(len(defs.resolve_asset_graph().get_all_asset_keys()))\n"
        "print(defs.resolve_job_def('demo_release_job').name)\n"
    )
    completed = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, str(ROOT / "workspace.yaml")], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert completed.stdout.split() == ["8", "demo_release_job"], completed.stderr
    assert not list(tmp_path.iterdir())
