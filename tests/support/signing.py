"""Ed25519 keys of tests, as PEM files."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from setanon_dagster.gate.signing import SigningKey


def own_key(seed=1):
    """A key that is the same in each run."""
    return Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)


def signer(seed=1):
    return SigningKey(own_key(seed))


def public_keys(*seeds):
    return {f"key {seed}": own_key(seed).public_key() for seed in seeds or (1,)}


def private_pem(key, passphrase=None):
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def write_private(path, data):
    """Write the file of a private key, readable by its owner only."""
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def write_keys(folder, seed=1):
    """Write the files of a key; return the paths of the private and of the public one."""
    key, public = own_key(seed), folder / f"public{seed}.pem"
    public.write_bytes(public_pem(key))
    return write_private(folder / f"key{seed}.pem", private_pem(key)), public
