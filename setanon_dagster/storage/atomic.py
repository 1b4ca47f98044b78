"""Files that are whole or not there: written under a hidden name, flushed, then renamed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def atomic_write(path: Path, mode: int = 0o600) -> Iterator[Path]:
    """Lend an empty file to write into, which then takes this path; if that fails, it is gone.

    It is for its owner's eyes only from the first byte on, and has its mode when it is complete.
    """
    path = path.absolute()
    # A hidden name with another suffix: no pattern for data matches what a killed process leaves.
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
    """Make a rename outlive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
