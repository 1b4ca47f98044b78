"""Slow libraries, loaded without the collector."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def imports_without_gc() -> Iterator[None]:
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
