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
from setanon_dagster.gate.held_files import HeldFile
from setanon_dagster.storage.atomic import fsync_folder
from setanon_dagster.storage.folders import make_folder
from setanon_dagster.storage.temporary import UNPUBLISHED, temporary_folder
from setanon_dagster.verifier.release_folder import CERTIFICATE, LEDGER, THREADS, sha256_of

DATASHEET: Final = "DATASHEET.md"

PUBLIC: Final = frozenset({THREADS, CERTIFICATE, DATASHEET})
"""The only files of a release."""

MAY_DIFFER: Final = frozenset({"schema", "versions", "published", "approval", "rejected", "sha256"})
"""Fields of the certificates of equal threads that another day, another version of the software or
further unusable lines of the source change. The digest of the threads is compared by itself."""


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
    staged: Path, target: Path, threads: HeldFile, digest: str, texts: Mapping[str, str]
) -> None:
    """Rename the staged folder to its public name; an existing folder must be the same release.

    `threads` is the verified file and `digest` its digest; `texts` are the other files.
    """
    releases = target.parents[1]
    require_same_files(_compare(staged, threads, texts))
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
        same = _compare(target, threads, texts)
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


def _compare(folder: Path, threads: HeldFile, texts: Mapping[str, str]) -> dict[str, bool]:
    """For each file of a release folder, whether it is the verified one; and for all others."""
    names = {path.name for path in folder.iterdir()}
    # A link would publish whatever it names later.
    only_these = names == PUBLIC and not folder.is_symlink()
    same = {THREADS: threads.is_at(folder / THREADS), "the release folder": only_these}
    for name, text in texts.items():
        path = folder / name
        same[name] = path.is_file() and not path.is_symlink() and path.read_bytes() == text.encode()
    return same


def _withdraw(folder: Path, releases: Path) -> None:
    """Remove a folder; it loses its public name first."""
    with temporary_folder(releases) as hidden:
        folder.rename(hidden / folder.name)


def check_existing(existing: Path, staged: Path, digest: str) -> None:
    """Raise unless there is no release of this name, or the existing one is the staged one."""
    if not existing.is_symlink() and not existing.exists():
        return
    if (
        existing.is_symlink()
        or {path.name for path in existing.iterdir()} != PUBLIC
        or sha256_of(existing / THREADS) != digest
        or (certificate := comparable_certificate(existing)) is None
    ):
        raise InvalidParameterError(
            f"the folder of a published release must have its {len(PUBLIC)} files unchanged; the "
            f"existing folder {existing.name} has others. Move it away and publish again."
        )
    if certificate != comparable_certificate(staged):
        raise InvalidParameterError(
            f"a release must be published once; the same threads are already published as "
            f"{existing.name}, with other parameters or costs. Use that release, or move its "
            "folder away and publish again."
        )


def comparable_certificate(folder: Path) -> dict[str, Any] | None:
    """The certificate except what may differ if the same threads are published again.

    None if it is not a JSON object.
    """
    try:
        certificate = json.loads((folder / CERTIFICATE).read_bytes())
    except ValueError:
        return None
    if not isinstance(certificate, dict):
        return None
    return {name: value for name, value in certificate.items() if name not in MAY_DIFFER}
