"""Folders that only their owner can read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

PRIVATE: Final = "private"
"""The folder, beside the releases, of what must not be published."""


def private_folder(folder: Path) -> Path:
    """Make a folder for the eyes of its owner only, and so what is missing above it.

    But for what is above a folder named `private`: beside that, there may be something public.
    """
    line = (*reversed(folder.parents), folder)
    public = line.index(mark) if (mark := _named_private(line)) else 0
    for place, each in enumerate(line):
        each.mkdir(mode=0o755 if place < public else 0o700, exist_ok=True)
    return folder


def _named_private(line: Sequence[Path]) -> Path | None:
    return next((each for each in line if each.name == PRIVATE), None)
