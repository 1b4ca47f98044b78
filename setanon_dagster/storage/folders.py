"""Create private folders and output folders with their permissions.

`private_folder` is for everything between the source and the release: no other user can list it.
`make_folder` is for the output folders: it sets the mode of a folder that exists, too.
"""

from pathlib import Path
from typing import Final

PUBLIC: Final = "releases"
"""Name of the folder of the published releases."""

PRIVATE: Final = "private"
"""Name of the folder next to `releases` for files that must not be published."""


def private_folder(folder: Path) -> Path:
    """Create a folder and its missing parents with mode 0700.

    Missing parents of a folder named `private` get mode 0755: they may contain public folders.
    The mode of existing folders is not changed.
    """
    path = (*reversed(folder.parents), folder)
    names = [part.name for part in path]
    first_private = names.index(PRIVATE) if PRIVATE in names else 0
    for depth, part in enumerate(path):
        part.mkdir(mode=0o755 if depth < first_private else 0o700, exist_ok=True)
    return folder


def make_folder(path: Path, mode: int) -> Path:
    """Create a folder and set its mode regardless of the umask; missing parents get mode 0755."""
    for parent in [each for each in reversed(path.parents) if not each.exists()]:
        parent.mkdir(exist_ok=True)
        parent.chmod(0o755)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(mode)
    return path
