"""The command `ui`: Dagster's environment, and how it is stopped."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from setanon_dagster.cli.ui import environment

ROOT = Path(__file__).parents[2]

FAKE_DAGSTER = """
import sys, time
from pathlib import Path
Path("started").touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    Path("stopped").touch()
"""


def test_dagster_home_is_created_once_without_telemetry(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    variables = environment(Path("a/home"))
    home = Path(variables["DAGSTER_HOME"])
    assert home == tmp_path / "a" / "home"
    assert Path(variables["SETANON_DEMO"]).is_absolute()
    assert (home / "dagster.yaml").read_text().count("enabled: false") == 2
    (home / "dagster.yaml").write_text("mine")
    environment(home)
    assert (home / "dagster.yaml").read_text() == "mine"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_dagster_even_if_the_shell_ignores_sigint(tmp_path, number):
    for name, code in (("dagster", FAKE_DAGSTER), ("dagster_webserver", "")):
        (tmp_path / "fake" / name).mkdir(parents=True)
        (tmp_path / "fake" / name / "__init__.py").touch()
        (tmp_path / "fake" / name / "__main__.py").write_text(code)
    script = (
        "import signal, sys, threading, time, os; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from setanon_dagster.cli.ui import serve\n"
        "def stop():\n"
        "    while not Path('started').exists(): time.sleep(0.05)\n"
        f"    time.sleep(0.3); os.kill(os.getpid(), {int(number)})\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        "sys.exit(serve(Path('home'), 3999))\n"
    )
    path = os.pathsep.join([str(tmp_path / "fake"), str(ROOT)])
    completed = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert (completed.returncode, completed.stderr) == (0, "")
    assert (tmp_path / "stopped").exists()
