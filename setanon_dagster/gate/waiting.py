"""Releases that wait for approval: their verified files are in `waiting`, in their private folder.

Guarantee:  nothing of a waiting release is public. Its files are there as a whole or not at all:
            the folder is renamed when it is complete. The digests of all files are kept, so that
            files that were changed since verification are found.
"""

import errno
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Final

from setanon_dagster.gate.certificate import CertificateFiles
from setanon_dagster.gate.public_folder import DATASHEET, comparable_certificate
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.staging import copy_private, write_private
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.temporary import UNPUBLISHED, temporary_folder
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of

WAITING: Final = "waiting"
"""Folder of the staged files, in the private folder of the release."""

REPLACED: Final = "waiting.replaced"
"""Folder of the files that waited before, while a new request takes their place."""

EXACT: Final = "exact_certificate.json"
REQUEST: Final = "request.json"
STAGED: Final = (THREADS, CERTIFICATE, DATASHEET, EXACT)


@dataclass(frozen=True, slots=True)
class Request:
    """What waits for approval, with the digests of its files."""

    release: str
    name: str
    part: str | None
    created: str
    sha256: Mapping[str, str] = field(default_factory=dict)
    signature: str = "optional"
    """Whether it must be signed when it is approved."""

    id: str = ""
    """Random: a second request for the same files, even within a second, needs its own decision."""

    def __post_init__(self) -> None:
        """Check the types of a request that was read from a file."""
        texts = (self.release, self.name, self.part or "", self.created, self.signature, self.id)
        if not all(isinstance(text, str) for text in texts) or not isinstance(self.sha256, dict):
            raise TypeError("a request must have texts and digests")

    def series(self, out: Path) -> Series:
        """The series of the release in an output folder."""
        return Series(out, self.name, self.part)

    def has_name(self, name: str) -> bool:
        """Whether a name is that of a release with these threads in this series."""
        series = self.series(Path())
        return name == self.release == series.release_id(self.sha256.get(THREADS, ""))

    def changed_files(self, private: Path) -> list[str]:
        """Names of the staged files, and of the ledger, that are not those of the request."""
        return [
            name
            for name, path in _files(private).items()
            if not path.is_file() or path.is_symlink() or sha256_of(path) != self.sha256.get(name)
        ]


def _files(private: Path) -> dict[str, Path]:
    return {name: private / WAITING / name for name in STAGED} | {LEDGER: private / LEDGER}


def read_request(private: Path) -> tuple[Request, str] | None:
    """The request in the private folder of a release, and its digest; None if there is none."""
    try:
        text = (private / WAITING / REQUEST).read_bytes()
        return Request(**json.loads(text)), sha256(text).hexdigest()
    except (OSError, ValueError, TypeError):
        return None


def stage_request(
    series: Series, threads: Path, files: CertificateFiles, private: Path, signature: str
) -> None:
    """Write the files that wait into a staged private folder, which has the ledger."""
    waiting = private / WAITING
    waiting.mkdir(mode=0o700)
    copy_private(threads, waiting / THREADS)
    texts = {CERTIFICATE: files.public, DATASHEET: files.sheet, EXACT: files.exact}
    for name, text in texts.items():
        write_private(waiting / name, text)
    digests = {name: sha256_of(path) for name, path in _files(private).items()}
    request = Request(
        release=series.release_id(digests[THREADS]),
        name=series.name,
        part=series.part,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        sha256=digests,
        signature=signature,
        id=token_hex(16),
    )
    write_private(waiting / REQUEST, json.dumps(asdict(request), indent=2) + "\n")


def store_request(staged: Path, target: Path) -> None:
    """Move staged private files, with those that wait, to the private folder of the release.

    A request for the same files that waits already, or was rejected, is kept.
    """
    fsync_folder(staged / WAITING)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        if not _waits_already(staged, target):
            _set_aside(target)
            others = (path for path in sorted(staged.iterdir()) if path.name != WAITING)
            for file in others:
                file.replace(target / file.name)
            # Last: what waits is complete.
            (staged / WAITING).rename(target / WAITING)
            _remove(target / REPLACED)
        # Of a process that was killed before publication; the folder would be removed with it.
        (target / UNPUBLISHED).unlink(missing_ok=True)
    fsync_folder(target)
    fsync_folder(target.parent)


def is_waiting(private: Path) -> bool:
    """Whether a release waits, or its request was being replaced when a process was killed."""
    return any((private / name).exists() for name in (WAITING, REPLACED))


def remove_request(private: Path) -> None:
    """Remove the files that wait."""
    for name in (REPLACED, WAITING):
        _remove(private / name)


def _set_aside(private: Path) -> None:
    """Rename the files that wait, so that others can take their place."""
    if (private / WAITING).exists():
        _remove(private / REPLACED)
        (private / WAITING).rename(private / REPLACED)


def _remove(folder: Path) -> None:
    """Remove a folder of a private folder; it loses its name first."""
    if folder.exists():
        with temporary_folder(folder.parents[1]) as hidden:
            folder.rename(hidden / folder.name)


def _waits_already(staged: Path, target: Path) -> bool:
    """Whether the same release waits there, with unchanged files and for the same signature."""
    found, other = read_request(target), read_request(staged)
    return (
        found is not None
        and other is not None
        and not found[0].changed_files(target)
        and found[0].sha256[THREADS] == other[0].sha256[THREADS]
        and found[0].signature == other[0].signature
        and comparable_certificate(target / WAITING) == comparable_certificate(staged / WAITING)
    )
