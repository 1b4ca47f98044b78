"""Staging folders and file copies of the release gate; all are private until publication."""

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
"""Prefix of the names of staging folders and links."""

STALE_SECONDS: Final = 24 * 60 * 60
"""Age at which the staging folder of a killed process is removed."""


@contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """Private temporary folder; removes stale ones."""
    for existing in parent.glob(f"{STAGING_PREFIX}*"):
        if time.time() - existing.lstat().st_mtime > STALE_SECONDS:
            _remove(existing)
    folder = parent / f"{STAGING_PREFIX}{token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        _remove(folder)


def _remove(path: Path) -> None:
    path.unlink() if path.is_symlink() else shutil.rmtree(path, ignore_errors=True)


def copy_private(source: Path, target: Path) -> None:
    """Copy a file atomically, readable by its owner only."""
    with atomic_write(target) as file:
        shutil.copyfile(source, file)


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link, else copy; the target does not change if the source is replaced later."""
    try:
        os.link(source, target)
    except OSError:
        copy_private(source, target)


def write_public(path: Path, text: str) -> None:
    """Write a world-readable text file atomically."""
    with atomic_write(path, 0o644) as file:
        file.write_text(text, encoding="utf-8", newline="\n")
