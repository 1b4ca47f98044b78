"""Verification of a published release folder: its files, its certificate, its threads.

A release folder holds `threads.parquet`, `certificate.json` and `DATASHEET.md`, the signature if it
is signed, and nothing else. The ledger and the exact certificate are in the private folder.

Guarantee:  a folder is accepted only if it has these files, the certificate matches its schema and
            the threads, the threads are k-anonymous, and their file has no bytes but those of its
            rows. With public keys, one of them must verify the signature. Messages have counts
            only.
"""

import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final

from setanon_core.errors import MalformedInputError, NotAnonymousError
from setanon_dagster.verifier.certificate_claims import (
    CertifiedClaims,
    claim_failures,
    exact_failures,
    parse_certificate,
)
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.signature import SIGNATURE, PublicKeys, verify_signature
from setanon_dagster.verifier.verdict import FileVerdict
from setanon_dagster.verifier.written_bytes import duckdb_version, has_written_bytes

THREADS: Final = "threads.parquet"
"""File name of the published threads; the certificate has its digest."""

CERTIFICATE: Final = "certificate.json"

SHEET: Final = "DATASHEET.md"

FILES: Final = frozenset({THREADS, CERTIFICATE, SHEET})
"""The files of every release folder; separate from the gate's list, so that an error in that one is
refused. A signed release has its signature, too, and no release has any other file."""

LEDGER: Final = "ledger.parquet"
"""File name of the ledger in the private folder of a release."""

LATEST: Final = "latest"
"""Name of the link to the newest release of a series."""

SHEET_TITLE: Final = "# Data sheet of "

NO_USERS: Final = (
    "users: without the ledger each thread counts as one user, so k threads may be of one user"
)
NO_OWNERS: Final = (
    "owners: that min_owners users typed each keyword was verified before publication, and needs "
    "the stages"
)
NO_CERTIFICATE: Final = "certificate and digest: verify the folder of the release for these"
NO_SHEET: Final = f"{SHEET}: it was written by another version of setanon"
NO_BYTES: Final = f"hidden bytes of {THREADS}: it was written by another version of DuckDB"
HIDDEN_BYTES: Final = (
    f"{THREADS} must have the bytes that are written for its rows; it has others, which may "
    "contain further data"
)

Sheet = Callable[[str, Mapping[str, Any]], str]
"""Builds the data sheet from the name and the certificate of a release."""


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """The verdict on a release folder."""

    k: int
    format: str
    threads: FileVerdict
    """The verdict on the published threads."""

    failures: list[str] = field(default_factory=list)
    """Messages about all faults, with counts and without data."""

    unchecked: list[str] = field(default_factory=list)
    """What was not checked, and why."""

    signer: str | None = None
    """Name of the public key that verifies the signature; None if it was not checked."""

    @property
    def ok(self) -> bool:
        """Whether no fault was found."""
        return not self.failures


def read_claims(folder: Path) -> CertifiedClaims:
    """Read the claims from the certificate of a release folder."""
    try:
        text = (folder / CERTIFICATE).read_bytes()
    except OSError:
        text = b""
    certificate, failures = parse_certificate(text)
    if failures:
        raise MalformedInputError(
            f"release {folder.name} must have a certificate that matches its schema: "
            f"{'; '.join(failures)}. Withdraw the release and publish it again."
        )
    return CertifiedClaims.of(certificate, text)


def verify_folder(  # noqa: PLR0913 - the folder, what it is compared with, and two limits
    folder: Path,
    k: int | None = None,
    *,
    ledger: Path | None = None,
    private: Path | None = None,
    keys: PublicKeys | None = None,
    data_sheet: Sheet | None = None,
    version: str | None = None,
    memory: str | None = None,
    spill: Path | None = None,
) -> FolderVerdict:
    """Verify the files of a release folder; k is that of the certificate if it is None.

    `private` is the private folder of this release: its ledger and its exact certificate are
    compared too. One of the public `keys` must verify the signature. `data_sheet` builds the data
    sheet of a certificate of this `version`.
    """
    claims = read_claims(folder)
    certificate = claims.certificate
    signature = verify_signature(folder, claims.text, keys or {})
    failures = [*signature.failures, *file_failures(folder)]
    path = folder / THREADS
    if not path.is_file():
        raise MalformedInputError(
            f"release {folder.name} must have the file {THREADS}; it has none. Withdraw it."
        )
    if private is not None:
        ledger = private / LEDGER
    digest = sha256_of(path)
    verdict = verify_file(
        path,
        claims.k if k is None else k,
        ledger,
        format=claims.format,
        min_owners=claims.min_owners,
        attributes=claims.attributes,
        memory=memory,
        spill=spill,
    )
    failures += verdict.failures
    if not verdict.records:
        failures.append("the file must have at least one thread; it has none")
    # The digest is computed before and after: the file must not change in between.
    if {digest, sha256_of(path)} != {claims.digest}:
        failures.append("its threads must have the digest of its certificate; the digests differ")
    failures += claim_failures(certificate, verdict)
    unchecked = [] if certificate["versions"]["duckdb"] == duckdb_version() else [NO_BYTES]
    if not unchecked and not verdict.failures:  # other columns cannot be written again
        failures += _byte_failures(path, claims.attributes, memory, spill)
    failures += digest_failures(folder, certificate, required=bool(keys))
    if data_sheet is not None and certificate["versions"]["setanon"] == version:
        failures += _sheet_failures(folder, certificate, data_sheet)
    elif data_sheet is not None:
        unchecked.append(NO_SHEET)
    if private is not None:
        failures += exact_failures(certificate, private / CERTIFICATE)
    if ledger is None:
        unchecked.append(NO_USERS)
    unchecked += [NO_OWNERS, *signature.unchecked]
    return FolderVerdict(
        verdict.k, claims.format, verdict, failures, unchecked, signer=signature.signer
    )


def verify_release(
    folder: Path,
    private: Path,
    *,
    data_sheet: Sheet | None = None,
    version: str | None = None,
    memory: str | None = None,
) -> FileVerdict:
    """Verify a release folder for the claims of its own certificate, not for today's parameters.

    `private` is the folder with the private files of all releases; DuckDB spills into it. The
    keywords of the users are not kept, so min_owners is not counted again: the digest shows that
    the file is the one for which it was verified.
    """
    verdict = verify_folder(
        folder,
        private=private / folder.name,
        data_sheet=data_sheet,
        version=version,
        memory=memory,
        spill=private,
    )
    if verdict.failures:
        raise NotAnonymousError(
            f"release {folder.name} must be k-anonymous: {'; '.join(verdict.failures)}. "
            "Withdraw the release."
        )
    return verdict.threads


def file_failures(folder: Path) -> list[str]:
    """Count missing and foreign files; those of a release must be regular files, not links."""
    modes = {path.name: path.lstat().st_mode for path in folder.iterdir()}
    known = FILES | {SIGNATURE}
    wrong = {
        "are missing": len(FILES - modes.keys()),
        "are foreign files, folders or links": len(modes.keys() - known),
        "are links or folders": sum(
            not stat.S_ISREG(mode) for name, mode in modes.items() if name in known
        ),
    }
    return [
        f"the folder must have {', '.join(sorted(FILES))}, {SIGNATURE} if it is signed, and "
        f"nothing else; {n} {what}"
        for what, n in wrong.items()
        if n
    ]


def digest_failures(
    folder: Path, certificate: Mapping[str, Any], *, required: bool = False
) -> list[str]:
    """Compare the data sheet with its digest, which certificates of schema 2 do not have.

    It is required if the signature of the certificate must cover the data sheet.
    """
    path, digest = folder / SHEET, certificate["sha256"].get(SHEET)
    if digest is None and required:
        return [f"a signed certificate must have the digest of {SHEET}; it has none"]
    if digest is None or not path.is_file() or sha256_of(path) == digest:
        return []
    return [f"{SHEET} must have the digest of its certificate; the digests differ"]


def _byte_failures(
    path: Path, attributes: Sequence[str], memory: str | None, spill: Path | None
) -> list[str]:
    """Compare the file with the bytes that are written for its rows."""
    same = has_written_bytes(path, attributes, memory=memory, spill=spill)
    return [] if same else [HIDDEN_BYTES]


def _sheet_failures(folder: Path, certificate: Mapping[str, Any], data_sheet: Sheet) -> list[str]:
    """Compare the data sheet with the one that the certificate gives."""
    try:
        text = (folder / SHEET).read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        text = ""
    name = text.partition("\n")[0].removeprefix(SHEET_TITLE)
    # A published folder is called by the name of the release and 12 digits of its digest.
    full = f"{name}-{certificate['sha256'][THREADS][:12]}"
    if text == data_sheet(name, certificate) and folder.resolve().name == full:
        return []
    message = f"{SHEET} must be the data sheet of the certificate, for the name of the folder"
    return [f"{message}; they differ"]


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
