"""Temporary folders and files, locked by their process; each run removes those of killed ones.

Guarantee:  a temporary folder or file is removed by the next run in the same output folder if its
            process has ended, in whatever way, and never while it runs: the operating system
            releases the lock (`flock`) when the process ends. No clock and no process id is used.
            If the file system has no locks, leftovers are not removed.
"""

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir
from typing import Final

from setanon_dagster.storage.folders import PRIVATE, PUBLIC

TEMPORARY_NAME: Final = re.compile(r"\.temporary-[0-9a-f]{16}|\.[0-9a-f]{16}\.part")
"""Names of temporary folders and files; hidden, so that no glob for data matches them."""

UNPUBLISHED: Final = ".unpublished"
"""File in the private folder of a release until the release is public."""


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Private folder with a lock, removed at the end; removes leftovers of killed processes.

    The parent must exist; None: the system's folder for temporary files. If the folder is renamed
    in the block, it is not removed.
    """
    with ExitStack() as resources:
        yield enter_temporary_folder(resources, parent)


def enter_temporary_folder(resources: ExitStack, parent: Path | None = None) -> Path:
    """Create a temporary folder that is removed when `resources` is closed."""
    parent = Path(gettempdir()) if parent is None else parent.absolute()
    remove_leftovers(parent)
    while True:
        folder = parent / f".temporary-{token_hex(8)}"
        folder.mkdir(mode=0o700)
        resources.callback(shutil.rmtree, folder, ignore_errors=True)
        with suppress(FileNotFoundError):
            resources.enter_context(hold(folder))
            return folder


@contextmanager
def temporary_file(parent: Path) -> Iterator[tuple[Path, int]]:
    """Empty private file with a lock, and its handle; removed at the end unless it was renamed."""
    parent = parent.absolute()
    remove_leftovers(parent)
    while True:
        path = parent / f".{token_hex(8)}.part"
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        try:
            if not _lock(handle, path):
                continue
            yield path, handle
            return
        finally:
            os.close(handle)
            path.unlink(missing_ok=True)


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock an existing folder, so that it is not removed as a leftover, whatever its name becomes.

    Raises `FileNotFoundError` if it was removed.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if not _lock(handle, folder):
            raise FileNotFoundError(folder)
        yield
    finally:
        os.close(handle)


@contextmanager
def lock_exclusively(folder: Path) -> Iterator[None]:
    """Wait until no other process holds a folder; without locks of the file system, do not."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove_all_leftovers(out: Path) -> None:
    """Remove what killed processes have left in the folders of an output folder."""
    private = out / PRIVATE
    with suppress(OSError):
        for folder in filter(Path.is_dir, private.iterdir()):
            _remove_unpublished(folder, out / PUBLIC)
            remove_leftovers(folder)
    for path, _, _ in os.walk(private / "stages"):
        remove_leftovers(Path(path))
    for folder in (private, out / PUBLIC):
        remove_leftovers(folder)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary folders and files of killed processes that are directly in a folder.

    Those that cannot be removed are left: another process may be removing them.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY_NAME.fullmatch(entry.name):
                with _owner_ended(Path(entry.path)) as ended:
                    if ended:
                        _remove(Path(entry.path))


def _remove_unpublished(folder: Path, releases: Path) -> None:
    """Remove the private files of a release whose process was killed before its publication."""
    mark = folder / UNPUBLISHED
    if not mark.exists():
        return
    with _owner_ended(folder) as ended:
        # releases/SERIES/RELEASE, or releases/RELEASE of earlier versions
        public = (releases / folder.name).exists() or any(releases.glob(f"*/{folder.name}"))
        if ended and public:
            mark.unlink(missing_ok=True)
        elif ended:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _owner_ended(path: Path) -> Iterator[bool]:
    """Whether no process holds the lock; nobody gets it until the end of the block."""
    handle = None
    try:
        # Other users can create links and files of these names in a shared folder.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ended = os.fstat(handle).st_uid == os.geteuid()
    except OSError:
        ended = False
    try:
        yield ended
    finally:
        if handle is not None:
            os.close(handle)


def _lock(handle: int, path: Path) -> bool:
    """Lock an open file or folder; return whether it still exists under this path."""
    # Shared: two processes may publish the same release. Without locks, nothing is removed.
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_SH)
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    if stat.S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
