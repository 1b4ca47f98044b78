"""File copies of the release gate; all are private until publication."""

import shutil
from pathlib import Path

from setanon_dagster.storage.atomic import atomic_write


def copy_private(source: Path, target: Path) -> None:
    """Copy a file atomically, readable by its owner only."""
    with atomic_write(target) as file:
        shutil.copyfile(source, file)


def copy_public(source: Path, target: Path) -> None:
    """Copy a file atomically, world-readable."""
    with atomic_write(target, 0o644) as file:
        shutil.copyfile(source, file)


def write_private(path: Path, text: str) -> None:
    """Write a text file atomically, readable by its owner only."""
    with atomic_write(path) as file:
        file.write_text(text, encoding="utf-8", newline="\n")


def write_public(path: Path, content: bytes) -> None:
    """Write a world-readable file atomically."""
    with atomic_write(path, 0o644) as file:
        file.write_bytes(content)
