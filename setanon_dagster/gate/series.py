"""The series of a release: `releases/NAME` with a folder per release, and the link `latest`.

A release has a series of its own, so that several releases can share an output folder. The parts of
a partitioned release are one series: `latest` links to its newest part, in whatever order the parts
are published.

Guarantee:  `latest` is replaced atomically, and never by a link to an older part: compared and
            replaced under a lock. Staged files are in `releases`, never in a series.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from setanon_core.errors import InvalidParameterError
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.folders import PUBLIC as RELEASES
from setanon_dagster.storage.temporary import lock_exclusively, temporary_folder
from setanon_dagster.verifier.release_folder import LATEST, THREADS

DIGITS: Final = 12
"""Digits of the digest in the name of a release folder."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Series:
    """The releases of one name in an output folder; `part` is the partition that is published."""

    out: Path
    name: str
    part: str | None = None

    def __post_init__(self) -> None:
        """Check that the names can be those of folders."""
        if self.name == LATEST or not all(map(_NAME.fullmatch, (self.name, self.title))):
            raise InvalidParameterError(
                "name must be 1 to 100 letters, digits, _, . and -, starting with a letter or "
                f"digit, and not {LATEST}."
            )

    @property
    def title(self) -> str:
        """The name of the release, followed by its part."""
        return self.name if self.part is None else f"{self.name}-{self.part}"

    @property
    def folder(self) -> Path:
        """The public folder of the series."""
        return self.out / RELEASES / self.name

    def release_id(self, digest: str) -> str:
        """The name of the folder of a release with these threads."""
        return f"{self.title}-{digest[:DIGITS]}"

    def check_folder(self) -> None:
        """Raise if something that is not of setanon is where the series belongs."""
        link = self.folder / LATEST
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            raise InvalidParameterError(
                f"{RELEASES}/{self.name} must be a folder or absent; it is a file or link. Move it."
            )
        if not link.is_symlink() and link.exists():
            raise InvalidParameterError(
                f"{RELEASES}/{self.name}/{LATEST} must be a symbolic link or absent; it is a file "
                "or folder. Move it."
            )

    def would_move_latest(self, release: str) -> bool:
        """Whether `latest` links to another release, and not to one of a newer part."""
        link = self.folder / LATEST
        if not link.is_symlink() or not (link / THREADS).is_file():
            return True
        current = str(link.readlink())
        return current != release and not self._is_newer(current)

    def switch_latest(self, release: str) -> None:
        """Link `latest` to a release, unless it links to a newer part."""
        with lock_exclusively(self.folder):
            if self.would_move_latest(release):
                with temporary_folder(self.folder.parent) as folder:
                    (folder / LATEST).symlink_to(release)
                    (folder / LATEST).replace(self.folder / LATEST)
            fsync_folder(self.folder)

    def earlier_layout(self) -> list[str]:
        """A sentence if `releases` has the layout of earlier versions, whose files all stay."""
        releases = self.out / RELEASES
        pattern = re.compile(rf"{re.escape(self.name)}-(.+-)?[0-9a-f]{{{DIGITS}}}")
        folders = sum(
            pattern.fullmatch(path.name) is not None and (path / THREADS).is_file()
            for path in releases.iterdir()
        )
        if not folders and not (releases / LATEST).is_symlink():
            return []
        sentences = (
            f"{RELEASES} has the layout of an earlier version: {folders} releases of {self.name} "
            f"are not in {RELEASES}/{self.name}, or there is a link {RELEASES}/{LATEST}. They "
            f"stay, and {RELEASES}/{LATEST} is no longer updated. Read {RELEASES}/{self.name}/"
            f"{LATEST}; move the folders into {RELEASES}/{self.name} and delete the link."
        )
        return [sentences]

    def _is_newer(self, release: str) -> bool:
        """Whether a release of this series is of a newer part; parts are dates, sorted as text."""
        match = re.fullmatch(rf"{re.escape(self.name)}-(.+)-[0-9a-f]{{{DIGITS}}}", release)
        return self.part is not None and match is not None and match[1] > self.part
