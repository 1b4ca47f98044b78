"""Slow libraries: loaded without the collector, and left to the system at the end."""

import atexit
import gc
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Import inside of it: what is there at its end is taken to stay, and is not looked at again.

    Of Dagster's import the collector takes a third, and later again at each full collection.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # libraries that count what is left over shall find nothing
        if enabled:
            gc.enable()


def leave(code: int) -> None:
    """End the process as at its end, but do not take all that was loaded apart: that takes long.

    Whatever is not as it should be then, returns: Python's own end knows how to deal with it.
    """
    if threading.active_count() > 1:
        return  # it would wait for them
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no other way to have them run
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # it would tell by its exit code
    os._exit(code)
