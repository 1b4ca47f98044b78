"""The commands beside a release: cost by k, the demo, and Dagster's pages."""

import csv
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.terminal import ROWS, call, text, write_log

from setanon_core.model.inputs import Baskets
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_dagster.cli.main import main
from setanon_dagster.cli.ui import environment
from setanon_dagster.demo import release

ROOT = Path(__file__).parents[2]
KS = (2, 3, 6)


def swept(folder):
    with (folder / "sweep.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def agree(row, cost):
    flips = cost.certificate.cost
    wanted = (cost.k, flips.additions, flips.deletions, flips.withdrawals, cost.respellings)
    names = ("k", "additions", "deletions", "withdrawals", "respellings")
    assert tuple(int(row[name]) for name in names) == wanted
    assert float(row["retained"]) == pytest.approx(cost.retained)
    assert float(row["factor"]) == pytest.approx(cost.certificate.factor)


@pytest.mark.parametrize("method", ["best", "paper"])
def test_a_sweep_has_the_numbers_of_the_core(tmp_path, method):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    asked = ["--k", "2..3,6", "--method", method, "--p", 1, "--out", out]
    result = call("sweep", write_log(tmp_path), *asked)
    assert result.exit_code == 0, result.output
    log = [(user, datetime.fromisoformat(time), query) for user, time, query in ROWS]
    params = ReleaseParams(k=2, method=method, p=1)
    costs = list(sweep_threads(threads_of_log(log, params), params, KS))
    for row, cost in zip(swept(out), costs, strict=True):
        agree(row, cost)
    printed = [line.split() for line in result.stdout.splitlines()[1 : 1 + len(KS)]]
    assert [line[:3] for line in printed] == [
        [str(cost.k), method, f"{cost.retained:.1%}"] for cost in costs
    ]
    assert (out / "sweep.png").stat().st_size > 1000
    assert sorted(path.name for path in out.iterdir()) == ["sweep.csv", "sweep.png"]


def test_baskets_are_swept_too_and_the_paper_stands_beside(tmp_path):
    path = tmp_path / "baskets.csv"
    pairs = [(str(n), word) for n in range(4) for word in ("glimmerwick", "thornbury")[: 1 + n % 2]]
    path.write_text(text([("record", "item"), *pairs], ","))
    figure = tmp_path / "cost.svg"
    result = call("sweep", path, "--kind", "baskets", "--k", 2, "--compare", "--plot", figure)
    assert result.exit_code == 0, result.output
    records, items = zip(*pairs, strict=True)
    threads = threads_of_baskets(Baskets(records, items, records))
    for line, method in zip(result.stdout.splitlines()[1:3], ("best", "paper"), strict=True):
        (cost,) = sweep_threads(threads, ReleaseParams(k=2, method=method), [2])
        flips = cost.certificate.cost
        assert line.split()[1:5] == [
            method, f"{cost.retained:.1%}", str(flips.additions), str(flips.deletions),
        ]  # fmt: skip
    assert figure.read_text().startswith("<?xml")


def test_without_matplotlib_the_table_is_printed_and_the_extra_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = call("sweep", write_log(tmp_path), "--k", "2", "--plot", tmp_path / "cost.png")
    assert result.exit_code == 1
    assert "95.2%" in result.stdout
    assert "pip install 'setanon[plot]'" in result.stderr


def test_the_demo_is_released_and_shown(tmp_path):
    pytest.importorskip("great_expectations")
    asked = ["demo", "--users", "300", "--k", "4", "--out", str(tmp_path)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    assert "A log of 300 invented users and 1,507 queries." in result.stderr
    shown = result.stdout.partition("Some of what anybody may read:")[2].strip().splitlines()
    assert len(shown) == 5
    assert all(int(line.rpartition("(")[2].split()[0]) >= 4 for line in shown)
    latest = tmp_path / "releases" / "latest"
    assert call("verify", latest, "--k", 4).exit_code == 0
    assert CliRunner().invoke(main, [*asked, "--users", "0"]).exit_code == 2


def test_loading_the_demo_writes_nothing_and_reading_it_writes_the_log(tmp_path, monkeypatch):
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


def test_the_workspace_has_the_assets_of_the_demo(tmp_path):
    script = (
        "import yaml, importlib, sys\n"
        "(entry,) = yaml.safe_load(open(sys.argv[1]))['load_from']\n"
        "defs = importlib.import_module(entry['python_module']).defs\n"
        "print(len(defs.resolve_asset_graph().get_all_asset_keys()))\n"
        "print(defs.resolve_job_def('demo_release_job').name)\n"
    )
    ran = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, str(ROOT / "workspace.yaml")], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.split() == ["8", "demo_release_job"], ran.stderr
    assert not list(tmp_path.iterdir())


def test_the_home_of_dagster_is_made_and_quiet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = environment(Path("a/home"))
    home = Path(found["DAGSTER_HOME"])
    assert home == tmp_path / "a" / "home"
    assert Path(found["SETANON_DEMO"]).is_absolute()
    assert (home / "dagster.yaml").read_text().count("enabled: false") == 2
    (home / "dagster.yaml").write_text("mine")
    environment(home)
    assert (home / "dagster.yaml").read_text() == "mine"


PAGES = """
import sys, time
from pathlib import Path
Path("started").touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    Path("stopped").touch()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_dagster_even_where_a_shell_has_it_ignored(tmp_path, number):
    for name, code in (("dagster", PAGES), ("dagster_webserver", "")):
        (tmp_path / "fake" / name).mkdir(parents=True)
        (tmp_path / "fake" / name / "__init__.py").touch()
        (tmp_path / "fake" / name / "__main__.py").write_text(code)
    script = (
        "import signal, sys, threading, time, os; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from setanon_dagster.cli.ui import serve\n"
        "def ask():\n"
        "    while not Path('started').exists(): time.sleep(0.05)\n"
        f"    time.sleep(0.3); os.kill(os.getpid(), {int(number)})\n"
        "threading.Thread(target=ask, daemon=True).start()\n"
        "sys.exit(serve(Path('home'), 3999))\n"
    )
    places = os.pathsep.join([str(tmp_path / "fake"), str(ROOT)])
    ran = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": places},
        capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "stopped").exists()
