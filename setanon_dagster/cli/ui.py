"""Dagster's pages on the demo, in a home folder of their own, until somebody stops them."""

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
DEFINITIONS: Final = "setanon_dagster.demo.code_location"

PATIENCE: Final = 30.0
"""Seconds that Dagster has to stop what it has started."""

LOOK_EVERY: Final = 0.2
"""Seconds between two looks at whether somebody wants it to stop."""


class MissingServerError(SetanonError):
    """There is no web server to start."""


def require_server() -> None:
    """Refuse to promise pages that nobody can serve."""
    if find_spec("dagster_webserver") is None:
        raise MissingServerError(
            "The pages must be served by dagster-webserver, which is not installed. Install "
            "setanon[ui]."
        )


def serve(home: Path, port: int) -> int:
    """Run `dagster dev` until SIGINT or SIGTERM, and hand on how it ended."""
    command = [sys.executable, "-m", "dagster", "dev", "-m", DEFINITIONS, "-p", str(port)]
    asked: list[float] = []
    # Before the child is started: it would inherit a shell's wish to have them ignored.
    before = {
        each: signal.signal(each, lambda *_: asked.append(monotonic()))
        for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        # In a session of its own, it hears Ctrl-C from here only, once, and not from the terminal.
        with subprocess.Popen(  # noqa: S603 - our own interpreter, and arguments of our own
            command, env=environment(home), start_new_session=True
        ) as child:
            code = _wait(child, asked)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0 if asked else code


def _wait(child: subprocess.Popen[bytes], asked: Sequence[float]) -> int:
    """Wait for the child; once it is asked to stop, tell it, and be patient for a while."""
    told = False
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.wait(LOOK_EVERY)
        if asked and not told:
            # Of the signals, Dagster stops its own children for this one.
            child.send_signal(signal.SIGINT)
            told = True
        elif asked and monotonic() - asked[0] > PATIENCE:
            os.killpg(child.pid, signal.SIGKILL)


def environment(home: Path) -> dict[str, str]:
    """The environment of Dagster: a home that exists, and the folder of the demo."""
    folder = home.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        settings.write_text(SETTINGS, encoding="utf-8")
    return {**os.environ, "DAGSTER_HOME": str(folder), DEMO: str(demo_folder())}
