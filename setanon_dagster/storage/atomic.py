"""Atomic file writes: write to a hidden temporary file, flush it to disk, then rename it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setanon_dagster.storage.temporary import temporary_file


@contextmanager
def atomic_write(path: Path, mode: int = 0o600) -> Iterator[Path]:
    """Yield the path of an empty temporary file; rename it to `path` if the block succeeds.

    If the block raises, the temporary file is removed and `path` is unchanged. The temporary file
    has mode 0600; `mode` is set just before the rename.
    """
    path = path.absolute()
    with temporary_file(path.parent) as (temporary, handle):
        yield temporary
        os.fchmod(handle, mode)
        os.fsync(handle)
        temporary.replace(path)
    fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename in it survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
