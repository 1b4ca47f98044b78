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
from typing import Any, Final

from setanon_dagster.gate.certificate import CertificateFiles
from setanon_dagster.gate.public_folder import DATASHEET, comparable_certificate
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.staging import copy_private, write_private
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.temporary import temporary_folder
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of

WAITING: Final = "waiting"
"""Folder of the staged files, in the private folder of the release."""

EXACT: Final = "exact_certificate.json"
REQUEST: Final = "request.json"
DECISION: Final = "approval.json"
"""The decision about the last request, in the private folder of the release."""

STAGED: Final = (THREADS, CERTIFICATE, DATASHEET, EXACT)


@dataclass(frozen=True, slots=True)
class Request:
    """What waits for approval, with the digests of its files."""

    release: str
    name: str
    part: str | None
    created: str
    """Time of the request: a second request for the same files needs a decision of its own."""

    sha256: Mapping[str, str] = field(default_factory=dict)

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


def read_decision(private: Path, request: str) -> Mapping[str, Any] | None:
    """The decision about the request with this digest; None if there is none yet."""
    try:
        decision = json.loads((private / DECISION).read_bytes())
    except (OSError, ValueError):
        return None
    same = isinstance(decision, dict) and decision.get("request") == request
    return decision if same else None


def stage_request(series: Series, threads: Path, files: CertificateFiles, private: Path) -> None:
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
        created=now(),
        sha256=digests,
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
            remove_request(target)
            others = (path for path in sorted(staged.iterdir()) if path.name != WAITING)
            for file in others:
                file.replace(target / file.name)
            # Last: what waits is complete.
            (staged / WAITING).rename(target / WAITING)
    fsync_folder(target)
    fsync_folder(target.parent)


def remove_request(private: Path) -> None:
    """Remove the files that wait; they lose their name first."""
    if (private / WAITING).exists():
        with temporary_folder(private.parent) as hidden:
            (private / WAITING).rename(hidden / WAITING)


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _waits_already(staged: Path, target: Path) -> bool:
    """Whether the same release waits there, with unchanged files."""
    found, other = read_request(target), read_request(staged)
    return (
        found is not None
        and other is not None
        and not found[0].changed_files(target)
        and found[0].sha256[THREADS] == other[0].sha256[THREADS]
        and comparable_certificate(target / WAITING) == comparable_certificate(staged / WAITING)
    )
