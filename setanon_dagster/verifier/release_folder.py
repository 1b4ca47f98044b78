"""Verification of a published release folder against its own certificate.

A release folder holds `threads.parquet`, `certificate.json` and a data sheet. The certificate
states k, min_owners and the SHA-256 digest of the threads. The ledger is in the private folder.
"""

import json
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Final

from setanon_core.errors import MalformedInputError, NotAnonymousError
from setanon_dagster.verifier.release_file import verify_file
from setanon_dagster.verifier.verdict import FileVerdict

THREADS: Final = "threads.parquet"
"""File name of the published threads; the certificate has its digest."""

CERTIFICATE: Final = "certificate.json"

LEDGER: Final = "ledger.parquet"
"""File name of the ledger in the private folder of a release."""


@dataclass(frozen=True, slots=True)
class CertifiedClaims:
    """The claims of a certificate that are verified again."""

    k: int
    min_owners: int
    digest: str


def read_claims(folder: Path) -> CertifiedClaims:
    """Read the claims from the certificate of a release folder."""
    try:
        certificate = json.loads((folder / CERTIFICATE).read_bytes())
        claims = CertifiedClaims(
            certificate["k"], certificate["min_owners"], certificate["sha256"][THREADS]
        )
    except (OSError, ValueError, KeyError, TypeError):
        claims = None
    if claims is None or not (_is_integer(claims.k) and _is_integer(claims.min_owners)):
        raise MalformedInputError(
            f"release {folder.name} must have a certificate with k, min_owners and the digest of "
            "its threads; it has none. Withdraw the release and publish it again."
        )
    return claims


def verify_release(folder: Path, private: Path, *, memory: str | None = None) -> FileVerdict:
    """Verify a release folder for the claims of its own certificate, not for today's parameters.

    `private` is the folder with the private files of all releases; DuckDB spills into it. The
    keywords of the users are not kept, so min_owners is not counted again: the digest shows that
    the file is the one for which it was verified.
    """
    claims = read_claims(folder)
    verdict = verify_file(
        folder / THREADS,
        claims.k,
        private / folder.name / LEDGER,
        min_owners=claims.min_owners,
        memory=memory,
        spill=private,
    )
    failures = verdict.failures
    if sha256_of(folder / THREADS) != claims.digest:
        failures.append("its threads must have the digest of its certificate; the digests differ")
    if failures:
        raise NotAnonymousError(
            f"release {folder.name} must be k-anonymous: {'; '.join(failures)}. "
            "Withdraw the release."
        )
    return verdict


def published_releases(out: Path, name: str) -> list[Path]:
    """Folders of all published versions of the release `name` below the output folder `out`."""
    folders = (out / "releases").glob(f"{name}-*") if (out / "releases").is_dir() else ()
    return sorted(folder for folder in folders if (folder / THREADS).is_file())


def sha256_of(path: Path) -> str:
    """SHA-256 digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
