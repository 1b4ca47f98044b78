"""Run a script in another Python process that can import `support`."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = str(Path(__file__).parents[1])


def run_script(script, *arguments, timeout=None, **environment):
    """Run a script, which must succeed; return the lines of its output."""
    path = os.pathsep.join(filter(None, (TESTS, os.environ.get("PYTHONPATH"))))
    result = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", script, *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path, **environment},
    )
    return result.stdout.splitlines()
