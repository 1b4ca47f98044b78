"""Run the Dagster UI on the demo, with its own DAGSTER_HOME, until it is interrupted."""

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

SETTINGS: Final = "telemetry:\n  enabled: false\nnux:\n  enabled: false\n"
CODE_LOCATION: Final = "setanon_dagster.demo.code_location"

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


def serve(home: Path, port: int) -> int:
    """Run `dagster dev` until SIGINT or SIGTERM; return its exit code, or 0 if interrupted."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", CODE_LOCATION, "-p", str(port)]
    stop_times: list[float] = []
    # Before the child starts: it would inherit ignored signals from a shell.
    previous = {
        number: signal.signal(number, lambda *_: stop_times.append(monotonic()))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        # A new session: the child gets Ctrl-C from this process only, and only once.
        with subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            command, env=environment(home), start_new_session=True
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


def environment(home: Path) -> dict[str, str]:
    """Environment of Dagster: an existing DAGSTER_HOME, and the folder of the demo."""
    folder = home.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        settings.write_text(SETTINGS, encoding="utf-8")
    return {**os.environ, "DAGSTER_HOME": str(folder), DEMO: str(demo_folder())}
