"""Verification of the signature of a certificate by the public key of its publisher (Ed25519).

What is signed are the exact bytes of `certificate.json`. These contain the digests of the threads
and of the data sheet, so that one signature covers the whole release. The file has the 64 bytes of
the signature and nothing else: `openssl pkeyutl` writes and reads it, too.

Guarantee:  with public keys, a folder is accepted only if one of them verifies its signature.
            Without them, a signature is not checked, and the verdict says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from setanon_core.errors import InvalidParameterError, MissingPackageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE: Final = "certificate.json.sig"
"""File name of the signature; a release that is not signed has no such file."""

LENGTH: Final = 64
"""Bytes of an Ed25519 signature."""

LARGEST_KEY: Final = 1 << 16
"""Bytes; a PEM file of an Ed25519 key has about a hundred."""

NOT_SIGNED: Final = "the publisher: the certificate is not signed"
NOT_CHECKED: Final = (
    "the publisher: the certificate is signed, and its signature is checked with --key PUBLIC.pem"
)
MISSING: Final = f"the folder must have {SIGNATURE}, the signature of its publisher; it has none"
WRONG: Final = (
    f"{SIGNATURE} must be the signature of certificate.json by the key that was passed; it is not: "
    "the certificate was changed, or signed with another key"
)
PUBLIC_KEY: Final = (
    "--key must be a PEM file with an Ed25519 public key; {}. Pass the file that the publisher "
    "made with: openssl pkey -in KEY.pem -pubout"
)

PublicKeys = Mapping[str, "Ed25519PublicKey"]
"""Public keys by the name of their file."""


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """The verdict on the signature of a release folder."""

    failures: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    signer: str | None = None
    """Name of the key that verifies the signature."""


def require_cryptography() -> None:
    """Raise if the package that signs and verifies is not installed."""
    try:
        import cryptography.hazmat.primitives.asymmetric.ed25519
        import cryptography.hazmat.primitives.serialization  # noqa: F401 - imported to find out
    except ImportError:
        raise MissingPackageError(
            "signatures require the package cryptography, which is not installed. Run: pip install "
            "'setanon[sign]'"
        ) from None


def read_public_key(path: Path) -> "Ed25519PublicKey":
    """Read the public key of a publisher from a PEM file."""
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    with path.open("rb") as file:
        data = file.read(LARGEST_KEY)
    if b"PRIVATE KEY-----" in data:
        raise InvalidParameterError(PUBLIC_KEY.format("it has a private key"))
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidParameterError(PUBLIC_KEY.format("it has none")) from None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidParameterError(PUBLIC_KEY.format("it has a key of another type"))
    return key


def is_signed_by(key: "Ed25519PublicKey", certificate: bytes, signature: bytes) -> bool:
    """Whether a key verifies the signature of a certificate with these bytes."""
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, certificate)
    except InvalidSignature:
        return False
    return True


def read_signature(folder: Path) -> bytes | None:
    """The signature file of a release folder, cut after one byte too many; None without one."""
    path = folder / SIGNATURE
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(LENGTH + 1)


def verify_signature(folder: Path, certificate: bytes, keys: PublicKeys) -> SignatureVerdict:
    """Verify the signature of a certificate with these bytes; one of the keys must be the signer's.

    Without keys, only the number of bytes is checked: further ones could contain data.
    """
    signature = read_signature(folder)
    if signature is None:
        return SignatureVerdict([MISSING] if keys else [], [] if keys else [NOT_SIGNED])
    if len(signature) != LENGTH:
        count = "more" if len(signature) > LENGTH else len(signature)
        return SignatureVerdict([f"{SIGNATURE} must have {LENGTH} bytes; it has {count}"])
    if not keys:
        return SignatureVerdict(unchecked=[NOT_CHECKED])
    for name, key in keys.items():
        if is_signed_by(key, certificate, signature):
            return SignatureVerdict(signer=name)
    return SignatureVerdict([WRONG])
