"""`setanon verify --key` accepts a release that is signed with this key, and no other."""

import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from support.publishing import publish_files, stage_files
from support.signing import own_key, private_pem, public_keys, public_pem, signer, write_keys
from support.terminal import call

from setanon_core.errors import InvalidParameterError
from setanon_dagster.gate.certificate import certificate_text
from setanon_dagster.verifier.release_folder import verify_folder
from setanon_dagster.verifier.signature import (
    WRONG,
    SignatureVerdict,
    read_public_key,
    verify_signature,
)

SIGNATURE = "certificate.json.sig"


@pytest.fixture
def signed(tmp_path):
    """A signed release, and the path of the public key."""
    release = publish_files(stage_files(tmp_path / "in"), tmp_path / "out", signing_key=signer())
    return release, write_keys(tmp_path)[1]


def failures_of(release, *seeds):
    return verify_folder(release.folder, private=release.private, keys=public_keys(*seeds)).failures


def refusal(folder, key):
    """The error of a refused release, on one line."""
    result = call("verify", folder, "--key", key)
    assert result.exit_code == 1
    assert "is NOT accepted as a release; its threads are k-anonymous for k = 3" in result.stdout
    return " ".join(result.stderr.split())


def test_release_signed_with_the_key_is_accepted(signed):
    release, public = signed
    result = call("verify", release.folder, "--key", public, "--private", release.private)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"  signature    of the certificate, by the key {public}\n" in result.stdout
    assert "not checked  the publisher" not in result.stdout


def test_signature_that_was_not_checked_is_named(signed, small_release):
    result = call("verify", signed[0].folder)
    assert result.exit_code == 0
    assert (
        "not checked  the publisher: the certificate is signed, and its signature is checked"
        in (result.stdout)
    )
    result = call("verify", small_release.folder)
    assert result.exit_code == 0
    assert "not checked  the publisher: the certificate is not signed\n" in result.stdout


def test_other_key_is_refused(signed, tmp_path):
    assert "by the key that was passed; it is not" in refusal(
        signed[0].folder, write_keys(tmp_path, 2)[1]
    )


def test_missing_signature_is_refused_with_a_key_only(signed):
    release, public = signed
    (release.folder / SIGNATURE).unlink()
    assert f"the folder must have {SIGNATURE}" in refusal(release.folder, public)
    assert call("verify", release.folder).exit_code == 0


def test_one_of_several_keys_is_enough(signed, tmp_path):
    other = write_keys(tmp_path, 2)[1]
    result = call("verify", signed[0].folder, "--key", other, "--key", signed[1])
    assert result.exit_code == 0
    assert f"signature    of the certificate, by the key {signed[1]}" in result.stdout


def test_every_release_of_a_name_must_be_signed(signed, tmp_path):
    release, public = signed
    series = release.folder.parent
    assert call("verify", series, "--key", public).exit_code == 0
    second = publish_files(
        stage_files(tmp_path / "b", threads=10), tmp_path / "out", signing_key=signer(2)
    )
    result = call("verify", series, "--key", public)
    assert result.exit_code == 1
    assert f"{second.name}: {SIGNATURE} must be the signature" in result.stderr
    assert release.name not in result.stderr
    other = write_keys(tmp_path, 2)[1]
    assert call("verify", series, "--key", public, "--key", other).exit_code == 0


def test_any_changed_byte_of_certificate_or_signature_is_refused(signed):
    folder = signed[0].folder
    certificate, path = (folder / "certificate.json").read_bytes(), folder / SIGNATURE
    signature = path.read_bytes()
    assert verify_signature(folder, certificate, public_keys()) == SignatureVerdict(signer="key 1")
    for position in range(len(certificate)):
        changed = flip(certificate, position)
        assert verify_signature(folder, changed, public_keys()).failures == [WRONG], position
    for position in range(len(signature)):
        path.write_bytes(flip(signature, position))
        assert verify_signature(folder, certificate, public_keys()).failures == [WRONG], position


def flip(data, position):
    return bytes([*data[:position], data[position] ^ 1, *data[position + 1 :]])


@pytest.mark.parametrize("length", [0, 1, 63, 65, 9999])
def test_signature_of_another_length_is_refused_with_and_without_a_key(signed, length):
    (signed[0].folder / SIGNATURE).write_bytes(b"u" * length)
    seen = "more" if length > 64 else length
    message = f"{SIGNATURE} must have 64 bytes; it has {seen}"
    assert failures_of(signed[0]) == [message]
    assert verify_folder(signed[0].folder).failures == [message]


@pytest.mark.parametrize("make", ["link", "folder"])
def test_link_or_folder_in_the_place_of_the_signature_is_refused(signed, tmp_path, make):
    path = signed[0].folder / SIGNATURE
    path.rename(tmp_path / "elsewhere")
    if make == "link":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir()
    for verdict in (verify_folder(signed[0].folder), verify_folder(signed[0].folder, keys=public_keys())):  # fmt: skip  # noqa: E501
        assert any("1 are links or folders" in each for each in verdict.failures)


def test_certificate_signed_by_somebody_else_is_refused(signed):
    """Whoever changes a certificate can sign it, but not with the key of the publisher."""
    release, _ = signed
    path = release.folder / "certificate.json"
    path.write_text(path.read_text().replace('"unit": "user"', '"unit": "record"'))
    assert verify_folder(release.folder).failures == [], "without a key, it cannot be known"
    assert any("it is not" in each for each in failures_of(release))
    (release.folder / SIGNATURE).write_bytes(own_key(2).sign(path.read_bytes()))
    assert any("it is not" in each for each in failures_of(release))


def test_threads_and_data_sheet_of_another_release_are_refused(signed, tmp_path):
    release, public = signed
    other = publish_files(stage_files(tmp_path / "b", threads=10), tmp_path / "other")
    for name in ("threads.parquet", "DATASHEET.md"):
        before = (release.folder / name).read_bytes()
        (release.folder / name).write_bytes((other.folder / name).read_bytes())
        assert "must have the digest of its certificate; the digests differ" in refusal(
            release.folder, public
        )
        (release.folder / name).write_bytes(before)
    assert failures_of(release) == []


def test_signed_certificate_without_the_digest_of_the_data_sheet_is_refused(signed):
    """Schema 2 had no such digest: its signature would not cover the data sheet."""
    path = signed[0].folder / "certificate.json"
    certificate = json.loads(path.read_text())
    digests = {"threads.parquet": certificate["sha256"]["threads.parquet"]}
    new = ("published", "approval", "rejected")
    old = {name: value for name, value in certificate.items() if name not in new}
    path.write_text(certificate_text(old | {"schema": 2, "sha256": digests}))
    (path.parent / SIGNATURE).write_bytes(own_key().sign(path.read_bytes()))
    assert "a signed certificate must have the digest of DATASHEET.md; it has none" in (
        verify_folder(path.parent, keys=public_keys()).failures
    )


KEYS = {
    "it has a private key": private_pem(own_key()),
    "; it has a private key": private_pem(own_key(), b"secret"),
    "it has none": b"ssh-ed25519 AAAA",
    "; it has none": b"",
    "it has a key of another type": public_pem(ec.generate_private_key(ec.SECP256R1())),
}


@pytest.mark.parametrize("message", KEYS)
def test_file_that_is_no_public_key_is_a_bad_argument(signed, tmp_path, message):
    (tmp_path / "wrong.pem").write_bytes(KEYS[message])
    with pytest.raises(InvalidParameterError, match=message):
        read_public_key(tmp_path / "wrong.pem")
    result = call("verify", signed[0].folder, "--key", tmp_path / "wrong.pem")
    assert result.exit_code == 2
    assert "--key must be a PEM file with an Ed25519 public key" in result.stderr
    assert "k-anonymous" not in result.stdout


def test_single_file_has_no_signature(signed):
    release, public = signed
    result = call("verify", release.folder / "threads.parquet", "--k", 3, "--key", public)
    assert result.exit_code == 2
    assert "a single file has no signature" in result.stderr
    assert call("verify", release.folder, "--key", release.folder / "none.pem").exit_code == 2


def test_refused_threads_are_not_called_anonymous(signed):
    result = call("verify", signed[0].folder, "--k", 10, "--key", signed[1])
    assert result.exit_code == 1
    assert "is NOT a release that is k-anonymous for k = 10" in result.stdout
