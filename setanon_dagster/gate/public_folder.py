"""The folders of a release: store its private files, and rename its staged folder.

Guarantee:  the published files are the staged ones that were verified; if one was replaced or
            changed in the meantime, the folder is removed again.
"""

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_dagster.gate.certificate import CertificateFiles, certificate_text
from setanon_dagster.gate.held_files import HeldFile
from setanon_dagster.gate.signing import SigningKey
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.folders import make_folder
from setanon_dagster.storage.temporary import UNPUBLISHED, temporary_folder
from setanon_dagster.verifier.certificate_claims import exact_failures
from setanon_dagster.verifier.release_folder import (
    CERTIFICATE,
    LEDGER,
    THREADS,
    digest_failures,
    file_failures,
    sha256_of,
)
from setanon_dagster.verifier.signature import SIGNATURE

DATASHEET: Final = "DATASHEET.md"

PUBLIC: Final = frozenset({THREADS, CERTIFICATE, DATASHEET})
"""The only files of a release, except the signature of a signed one."""

MAY_DIFFER: Final = frozenset({"schema", "versions", "published", "approval", "rejected", "sha256"})
"""Fields of the certificates of equal threads that another day, another version of the software or
further unusable lines of the source change. The digest of the threads is compared by itself."""

RESTORED: Final = MAY_DIFFER - {"rejected"}
"""Those that are equal in the exact and in the public certificate of a release."""


def public_contents(files: CertificateFiles, key: SigningKey | None) -> dict[str, bytes]:
    """The contents of all public files except the threads; signed if there is a key."""
    certificate = files.public.encode()
    contents = {CERTIFICATE: certificate, DATASHEET: files.sheet.encode()}
    return contents if key is None else contents | {SIGNATURE: key.sign(certificate)}


def store_private_files(staged: Path, target: Path, ledger: HeldFile) -> None:
    """Move the private files to their folder, before the release that needs them is public."""
    require_same_files({LEDGER: ledger.is_at(staged / LEDGER)})
    # If this process is killed before the release is public, the next run removes the files.
    (staged / UNPUBLISHED).touch(0o600)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        (staged / UNPUBLISHED).unlink()
        for file in sorted(staged.iterdir()):
            file.replace(target / file.name)
    require_same_files({LEDGER: ledger.is_at(target / LEDGER, renamed=True)})
    fsync_folder(target)
    fsync_folder(target.parent)


def publish_folder(
    staged: Path, target: Path, threads: HeldFile, digest: str, contents: Mapping[str, bytes]
) -> None:
    """Rename the staged folder to its public name; an existing folder must be the same release.

    `threads` is the verified file and `digest` its digest; `contents` are those of other files.
    """
    releases = target.parents[1]
    require_same_files(_compare(staged, threads, contents))
    staged.chmod(0o755)
    fsync_folder(staged)
    make_folder(target.parent, 0o755)
    fsync_folder(releases)
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
            raise
        check_existing(target, staged, digest)
    else:
        same = _compare(target, threads, contents)
        same[THREADS] &= threads.digest() == digest
        if not all(same.values()):
            _withdraw(target, releases)
        require_same_files(same)
    fsync_folder(target.parent)


def require_same_files(same: Mapping[str, bool]) -> None:
    """Raise if a file is not the one that was verified."""
    different = [name for name, unchanged in same.items() if not unchanged]
    if different:
        raise NotAnonymousError(
            "a release must have the files that were verified; another process replaced or changed "
            f"{', '.join(different)}. Nothing was published; find out which process writes there."
        )


def _compare(folder: Path, threads: HeldFile, contents: Mapping[str, bytes]) -> dict[str, bool]:
    """For each file of a release folder, whether it is the verified one; and for all others."""
    names = {path.name for path in folder.iterdir()}
    # A link would publish whatever it names later.
    only_these = names == {THREADS, *contents} and not folder.is_symlink()
    only_these &= names - {SIGNATURE} == PUBLIC
    same = {THREADS: threads.is_at(folder / THREADS), "the release folder": only_these}
    for name, content in contents.items():
        path = folder / name
        same[name] = path.is_file() and not path.is_symlink() and path.read_bytes() == content
    return same


def _withdraw(folder: Path, releases: Path) -> None:
    """Remove a folder; it loses its public name first."""
    with temporary_folder(releases) as hidden:
        folder.rename(hidden / folder.name)


def check_existing(existing: Path, staged: Path, digest: str, private: Path | None = None) -> None:
    """Raise unless there is no release of this name, or the existing one is the staged one.

    `private` is the private folder of the release: the existing certificate must be that of its
    exact certificate.
    """
    if not existing.is_symlink() and not existing.exists():
        return
    certificate = None if existing.is_symlink() else _unchanged_certificate(existing, digest)
    if certificate is None or (
        private is not None
        and (private / CERTIFICATE).exists()
        and exact_failures(certificate, private / CERTIFICATE)
    ):
        raise InvalidParameterError(
            "the folder of a published release must have its files unchanged; the existing folder "
            f"{existing.name} has others. Move it away and publish again."
        )
    if _comparable(certificate) != comparable_certificate(staged):
        raise InvalidParameterError(
            f"a release must be published once; the same threads are already published as "
            f"{existing.name}, with other parameters or costs. Use that release, or move its "
            "folder away and publish again."
        )


def private_certificate(existing: Path, private: Path, files: CertificateFiles) -> str | None:
    """The exact certificate to be stored with a release; None if the stored one stays.

    A release that is published again keeps its first certificates, and so their date. If only its
    public certificate is left, the exact one gets the date of that one.
    """
    if not existing.exists():
        return files.exact
    if (private / CERTIFICATE).exists():
        return None
    exact, public = json.loads(files.exact), json.loads((existing / CERTIFICATE).read_bytes())
    return certificate_text(
        {name: (public if name in RESTORED else exact)[name] for name in public}
    )


def comparable_certificate(folder: Path) -> dict[str, Any] | None:
    """The certificate except what may differ if the same threads are published again.

    None if it is not a JSON object.
    """
    certificate = _read_certificate(folder)
    return None if certificate is None else _comparable(certificate)


def _comparable(certificate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in certificate.items() if name not in MAY_DIFFER}


def _read_certificate(folder: Path) -> dict[str, Any] | None:
    try:
        certificate = json.loads((folder / CERTIFICATE).read_bytes())
    except (ValueError, RecursionError):
        return None
    return certificate if isinstance(certificate, dict) else None


def _unchanged_certificate(folder: Path, digest: str) -> dict[str, Any] | None:
    """The certificate of a release folder; None if its files cannot be those of a release."""
    if not folder.is_dir() or file_failures(folder) or sha256_of(folder / THREADS) != digest:
        return None
    certificate = _read_certificate(folder)
    if certificate is None:
        return None
    try:
        same = certificate["sha256"][THREADS] == digest
        return certificate if same and not digest_failures(folder, certificate) else None
    except (LookupError, TypeError, AttributeError):
        return None
