"""Return freed memory to the operating system."""

import ctypes
import gc

import pyarrow as pa


class MemoryTrimmer:
    """Progress listener that trims memory whenever another step starts."""

    def __init__(self) -> None:
        """Start before the first step."""
        self._step = ""

    def __call__(self, step: str, _done: int, _total: int) -> None:
        """Trim memory if this is another step than at the last call."""
        if step != self._step:
            self._step = step
            trim_memory()


def trim_memory() -> None:
    """Return freed memory of Python, Arrow and the C library to the operating system.

    Allocators keep freed memory for reuse; for a large log this can exceed what the next stage
    needs.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only
    if trim is not None:
        trim(0)
