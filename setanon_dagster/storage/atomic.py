"""Atomic file writes: write to a hidden temporary file, flush it to disk, then rename it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def atomic_write(path: Path, mode: int = 0o600) -> Iterator[Path]:
    """Yield the path of an empty temporary file; rename it to `path` if the block succeeds.

    If the block raises, the temporary file is removed and `path` is unchanged. The temporary file
    has mode 0600; `mode` is set just before the rename.
    """
    path = path.absolute()
    # Hidden and with another suffix, so that no glob for data matches what a killed process leaves.
    temporary = path.with_name(f".{token_hex(8)}.part")
    file = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        yield temporary
        os.fchmod(file, mode)
        os.fsync(file)
        temporary.replace(path)
    finally:
        os.close(file)
        temporary.unlink(missing_ok=True)
    fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename in it survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
