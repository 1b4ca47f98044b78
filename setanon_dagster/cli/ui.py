"""Run the Dagster UI, with a DAGSTER_HOME of its own, until it is interrupted."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Final

from setanon_core.errors import SetanonError
from setanon_dagster.demo.release import DEMO, demo_folder
from setanon_dagster.storage.folders import PRIVATE, private_folder
from setanon_dagster.stored_parameters import stored_parameters

SETTINGS: Final = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
DEMO_LOCATION: Final = "setanon_dagster.demo.code_location"
OWN_LOCATION: Final = "setanon_dagster.cli.own_definitions"

OUT: Final = "SETANON_OUT"
"""Environment variable with the output folder whose releases the UI shows."""

QUIET: Final = ("-W", "ignore")
"""No warning that `dagster dev` is superseded: `dg dev` needs a project."""

STOP_TIMEOUT: Final = 30.0
"""Seconds that Dagster has to stop its child processes before it is killed."""

POLL_INTERVAL: Final = 0.2
"""Seconds between two checks for a stop signal."""


class MissingServerError(SetanonError):
    """dagster-webserver is not installed."""


def require_server() -> None:
    """Raise if dagster-webserver is not installed."""
    if find_spec("dagster_webserver") is None:
        raise MissingServerError(
            "The Dagster UI requires dagster-webserver, which is not installed. Run: pip install "
            "'setanon[dagster,ui]'"
        )


def open_output(out: Path, home: Path | None) -> Path:
    """Record the releases of an output folder in a DAGSTER_HOME, and return it.

    Raise if the folder has no releases. The default is a folder of its private folder.
    """
    configs = stored_parameters(out)
    if home is None:
        home = private_folder(out.absolute() / PRIVATE / "dagster")
    from dagster import DagsterInstance

    from setanon_dagster.cli.recorded_files import record_files

    os.environ |= environment(home, out)
    with DagsterInstance.get() as instance:
        for config in configs:
            record_files(instance, config)
    return home


def serve(home: Path, port: int, out: Path | None = None) -> int:
    """Run `dagster dev` until SIGINT or SIGTERM; return its exit code, or 0 if interrupted.

    It shows the releases of the folder `out`; None: the demo.
    """
    location = DEMO_LOCATION if out is None else OWN_LOCATION
    command = [sys.executable, *QUIET, "-m", "dagster", "dev", "-m", location, "-p", str(port)]
    stop_times: list[float] = []
    # Before the child starts: it would inherit ignored signals from a shell.
    previous = {
        number: signal.signal(number, lambda *_: stop_times.append(monotonic()))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        # A new session: the child gets Ctrl-C from this process only, and only once.
        with subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command, env=environment(home, out), start_new_session=True
        ) as child:
            code = _wait(child, stop_times)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0 if stop_times else code


def _wait(child: subprocess.Popen[bytes], stop_times: Sequence[float]) -> int:
    """Wait for the child; after a stop signal send SIGINT, and kill it after a timeout."""
    interrupted = False
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(POLL_INTERVAL)
        if stop_times and not interrupted:
            # Dagster stops its child processes on SIGINT only.
            child.send_signal(signal.SIGINT)
            interrupted = True
        elif stop_times and monotonic() - stop_times[0] > STOP_TIMEOUT:
            os.killpg(child.pid, signal.SIGKILL)


def environment(home: Path, out: Path | None = None) -> dict[str, str]:
    """Environment of Dagster: an existing DAGSTER_HOME, and the folder of releases, or the demo."""
    folder = home.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        settings.write_text(SETTINGS, encoding="utf-8")
    shown = {DEMO: str(demo_folder())} if out is None else {OUT: str(out.absolute())}
    return {**os.environ, "DAGSTER_HOME": str(folder), **shown}
