"""Signatures of certificates, by the private key whose file the environment names (Ed25519).

The key is not a parameter: it is in no configuration, certificate, log or metadata. A certificate
is signed when it is final. With approval, that is when it is approved: `setanon approve` signs.

Guarantee:  a key that cannot be read, that other users can read, or that is not an Ed25519 key is
            refused before anything is published. Ed25519 is deterministic: equal certificates and
            keys give equal signatures.
"""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from setanon_core.errors import InvalidParameterError
from setanon_dagster.config import Approval, Signature
from setanon_dagster.verifier.release_folder import CERTIFICATE
from setanon_dagster.verifier.signature import (
    LARGEST_KEY,
    SIGNATURE,
    is_signed_by,
    read_signature,
    require_cryptography,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

SIGNING_KEY: Final = "SETANON_SIGNING_KEY"
"""Environment variable with the path of the private key."""

PASSPHRASE: Final = "SETANON_SIGNING_PASSPHRASE"  # noqa: S105 - the name of the variable
"""Environment variable with the passphrase of an encrypted private key."""

OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
"""Permissions of the group and of all users; a private key has none of them."""


class SigningKey:
    """An Ed25519 private key. Its representation has nothing of the key."""

    __slots__ = ("_key",)

    def __init__(self, key: "Ed25519PrivateKey") -> None:
        """Keep the key."""
        self._key = key

    @property
    def public(self) -> "Ed25519PublicKey":
        """The public key, which verifies the signatures."""
        return self._key.public_key()

    def sign(self, certificate: bytes) -> bytes:
        """The signature of a certificate with these bytes."""
        return self._key.sign(certificate)


def environment_key() -> SigningKey | None:
    """The private key that the environment names; None if it names none."""
    path = os.environ.get(SIGNING_KEY, "")
    if not path:
        return None
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    passphrase = os.fsencode(os.environ.get(PASSPHRASE, "")) or None
    data = _read_private(path)
    try:
        key = load_pem_private_key(data, passphrase)
    except TypeError:  # raised for both
        seen = "it has no" if passphrase is None else "it is not encrypted, and there is a"
        raise _refusal(f"{seen} passphrase", f"Set or unset {PASSPHRASE}") from None
    except (ValueError, UnsupportedAlgorithm):
        if b"ENCRYPTED" in data and passphrase is not None:
            raise _refusal("its passphrase is another one", f"Correct {PASSPHRASE}") from None
        raise _refusal("it has none") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _refusal("it has a key of another type")
    return SigningKey(key)


def signing_key(approval: Approval, signature: Signature) -> SigningKey | None:
    """The key with which a run signs what it publishes; None if it does not sign.

    With approval, a run publishes nothing: it needs no key.
    """
    if approval == "required":
        return None
    key = environment_key()
    require_key(key, signature)
    return key


def require_key(key: SigningKey | None, signature: str) -> None:
    """Raise if the release must be signed, and there is no key."""
    if key is None and signature == "required":
        raise InvalidParameterError(
            f"{SIGNING_KEY} must be the path of the private key, since signature is required; it "
            "is not set. Set it; nothing was published."
        )


def require_signed(existing: Path, key: SigningKey | None, signature: str) -> None:
    """Raise if a published release has not the signature that a new release would have."""
    if not existing.is_dir() or (key is None and signature != "required"):
        return
    found = read_signature(existing)
    if found is None or not _is_own(key, (existing / CERTIFICATE).read_bytes(), found):
        seen = "is not signed" if found is None else "has a signature of another key"
        raise InvalidParameterError(
            f"a release must be signed with the key of {SIGNING_KEY}; {existing.name} is published "
            f"already, and {seen}. Published files are not changed: move its folder away and "
            f"publish again, or write {SIGNATURE} with openssl."
        )


def _is_own(key: SigningKey | None, certificate: bytes, signature: bytes) -> bool:
    return key is None or is_signed_by(key.public, certificate, signature)


def _read_private(path: str) -> bytes:
    """Read a file that no other user can read."""
    try:
        # Not blocking: the path may be that of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _refusal(f"it cannot be read ({type(error).__name__})") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise _refusal("it is not a regular file")
        if mode & OTHERS:
            raise _refusal(
                f"other users have permissions for it, mode {stat.S_IMODE(mode):04o}",
                f'Run: chmod 600 "${SIGNING_KEY}"; if others may have read it, create a new key',
            )
        return os.read(descriptor, LARGEST_KEY)
    finally:
        os.close(descriptor)


def _refusal(seen: str, remedy: str = "") -> InvalidParameterError:
    """The error about a file that is not a usable private key."""
    remedy = remedy or "Create one with: openssl genpkey -algorithm ed25519 -out KEY.pem"
    return InvalidParameterError(
        f"{SIGNING_KEY} must be the path of a PEM file with an Ed25519 private key, readable by "
        f"its owner only; {seen}. {remedy}."
    )
