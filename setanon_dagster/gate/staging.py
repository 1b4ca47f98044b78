"""Folders and files on their way to a name: private from the first byte on, and whole or gone."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from setanon_dagster.storage.atomic import atomic_write

STAGING_PREFIX: Final = ".staging-"
"""How the names of folders begin that nobody should look into."""

ABANDONED: Final = 24 * 60 * 60
"""Seconds after which what a killed process has left in staging is removed."""


def make_folder(path: Path, mode: int) -> Path:
    """Make a folder with this mode, whatever the umask; what is above it can be read by all."""
    for missing in [each for each in reversed(path.parents) if not each.exists()]:
        missing.mkdir(exist_ok=True)
        missing.chmod(0o755)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(mode)
    return path


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Lend a folder that nobody else can enter, and leave none behind, nor any of old kills."""
    for left in parent.glob(f"{STAGING_PREFIX}*"):
        if time.time() - left.lstat().st_mtime > ABANDONED:
            _remove(left)
    folder = parent / f"{STAGING_PREFIX}{token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(path: Path) -> None:
    path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def copy_private(source: Path, target: Path) -> None:
    """Copy a private file for its owner's eyes only, from the first byte on."""
    with atomic_write(target) as file:
        shutil.copyfile(source, file)


def link_or_copy(source: Path, target: Path) -> None:
    """Keep a file as it is now, whoever replaces it: by another name if that can be, or a copy."""
    try:
        os.link(source, target)
    except OSError:
        copy_private(source, target)


def write_public(path: Path, text: str) -> None:
    """Write a text that all may read."""
    with atomic_write(path, 0o644) as file:
        file.write_text(text, encoding="utf-8", newline="\n")
