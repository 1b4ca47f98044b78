"""Sentences for errors of disk, memory and processes: their own messages do not say what to do."""

import errno
import os
from concurrent.futures.process import BrokenProcessPool
from typing import Final

import duckdb

from setanon_core.errors import SetanonError

DISK_FULL: Final = (
    "the disk of the output folder must have room for the release and its intermediate files; it "
    "is full, or a limit on the size of files was reached. Free space, or set out to a folder on "
    "another disk."
)
NOT_WRITABLE: Final = (
    "the output folder must be readable and writable by this user; it is read-only, or permission "
    "was denied. Change its permissions, or set out to another folder."
)
MEMORY: Final = (
    "memory_limit must suffice for what DuckDB cannot write to disk; DuckDB ran out of memory. Set "
    "a higher memory_limit."
)
WORKER_ENDED: Final = (
    "every worker process must finish its work; one was killed, possibly because memory ran out. "
    "Free memory, or set fewer workers, and run again."
)

_DISK: Final = {
    errno.ENOSPC: DISK_FULL,
    errno.EDQUOT: DISK_FULL,
    errno.EFBIG: DISK_FULL,
    errno.EROFS: NOT_WRITABLE,
    errno.EACCES: NOT_WRITABLE,
    errno.EPERM: NOT_WRITABLE,
}


class ResourceError(SetanonError):
    """Disk, memory, permissions or a process failed; the message says what to do."""


def resource_sentence(error: BaseException) -> str | None:
    """What must hold, what was seen and what to do; None for errors of other kinds."""
    if isinstance(error, ResourceError):
        return str(error)
    if isinstance(error, OSError):
        return None if error.errno is None else _DISK.get(error.errno)
    if isinstance(error, BrokenProcessPool):
        return WORKER_ENDED
    if isinstance(error, duckdb.Error):
        # DuckDB states the reason of the operating system in its message only.
        message = str(error)
        for number, sentence in _DISK.items():
            if os.strerror(number) in message:
                return sentence
        if isinstance(error, duckdb.OutOfMemoryException):
            return MEMORY
    return MEMORY if isinstance(error, MemoryError) else None
