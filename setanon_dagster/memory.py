"""Memory that nobody needs any more, back to the system: libraries keep what they have freed."""

import ctypes
import gc

import pyarrow as pa


def give_back() -> None:
    """Let the system have the memory that earlier stages have freed: libraries keep it for later.

    Of a large log, that may be more than the stage needs.
    """
    gc.collect()
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # where the C library has it
    if trim is not None:
        trim(0)
