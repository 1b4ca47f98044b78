"""Memory that nobody needs any more, back to the system: libraries keep what they have freed."""

import ctypes
import gc

import pyarrow as pa


class MemoryTrimmer:
    """Hears how far a long step is, and gives memory back whenever another one begins."""

    def __init__(self) -> None:
        """Begin before any step."""
        self._step = ""

    def __call__(self, step: str, _done: int, _total: int) -> None:
        """Give back what the last step has left, if this is another one."""
        if step != self._step:
            self._step = step
            trim_memory()


def trim_memory() -> None:
    """Let the system have the memory that earlier stages have freed: libraries keep it for later.

    Of a large log, that may be more than the stage needs.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # where the C library has it
    if trim is not None:
        trim(0)
