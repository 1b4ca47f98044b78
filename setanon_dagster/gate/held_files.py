"""Files that stay open from their first read to publication, so that all steps read one file.

A path may name another file at the next read; an open descriptor cannot. Bytes that are changed in
place are detected by the times and the size of the file.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path

from setanon_core.errors import MalformedInputError


class HeldFile:
    """An open file; `path` names this file, even if another one replaces it in its folder."""

    def __init__(self, descriptor: int, name: str) -> None:
        """Remember the state of the file; `name` is its name in error messages."""
        self.name = name
        self.path = Path(f"/dev/fd/{descriptor}")
        self._descriptor = descriptor
        self._opened = os.fstat(descriptor)
        if not stat.S_ISREG(self._opened.st_mode):
            raise MalformedInputError(f"{name} must be a regular file. Materialize it again.")

    def is_unchanged(self, *, renamed: bool = False) -> bool:
        """Whether the file was not written since it was opened.

        Renaming or unlinking a file changes the time of its inode: `renamed` ignores this time, and
        so does a changed number of links, which is what a replaced file has.
        """
        now, before = os.fstat(self._descriptor), self._opened
        ignore_inode = renamed or now.st_nlink != before.st_nlink
        return (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns) and (
            ignore_inode or now.st_ctime_ns == before.st_ctime_ns
        )

    def is_at(self, path: Path, *, renamed: bool = False) -> bool:
        """Whether a path names this file, and the file is unchanged."""
        try:
            found = path.lstat()
        except OSError:
            return False
        same = (found.st_dev, found.st_ino) == (self._opened.st_dev, self._opened.st_ino)
        return same and self.is_unchanged(renamed=renamed)

    def digest(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()


@contextmanager
def hold_file(path: Path, name: str) -> Iterator[HeldFile]:
    """Keep a file open; `name` is its name in error messages."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield HeldFile(descriptor, name)
    finally:
        os.close(descriptor)
