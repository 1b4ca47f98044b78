"""The gate signs certificates with the key of the environment, once, when they are final."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from support.publishing import folder_state, publish_files, stage_files
from support.release_runs import latest_release, materialize, release_config, releases_folder
from support.signing import (
    own_key,
    private_pem,
    public_keys,
    public_pem,
    signer,
    write_keys,
    write_private,
)
from support.terminal import call, write_log

from setanon_core.errors import InvalidParameterError, SetanonError
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.decisions import Decision
from setanon_dagster.gate.release_spec import ReleaseSpec
from setanon_dagster.gate.series import Series
from setanon_dagster.gate.signing import environment_key, signing_key
from setanon_dagster.verifier.release_folder import verify_folder

SIGNATURE = "certificate.json.sig"
PASSPHRASE = b"canarypassphrase"
YES = Decision(by="Ada")


@pytest.fixture
def publish(tmp_path):
    """A function that publishes the small release in `tmp_path / "out"`, signed by default."""

    def run(threads=9, **changed):
        paths = stage_files(tmp_path / f"in{threads}", threads=threads)
        return publish_files(paths, tmp_path / "out", **{"signing_key": signer()} | changed)

    return run


@pytest.fixture
def set_key(tmp_path, monkeypatch):
    """A function that sets the variable of the key to a file with these bytes."""

    def set_key(data, passphrase="", mode=0o600):
        path = write_private(tmp_path / "key.pem", data)
        path.chmod(mode)
        monkeypatch.setenv("SETANON_SIGNING_KEY", str(path))
        monkeypatch.setenv("SETANON_SIGNING_PASSPHRASE", passphrase)
        return path

    return set_key


def names(folder):
    return {path.name for path in folder.iterdir()}


def accepted(release, *seeds):
    verdict = verify_folder(release.folder, private=release.private, keys=public_keys(*seeds))
    return verdict.failures == [] and verdict.signer is not None


def test_signed_release_has_one_more_file_that_the_public_key_verifies(publish, small_release):
    release = publish()
    assert names(release.folder) == names(small_release.folder) | {SIGNATURE}
    assert release.files == (*(release.folder / each.name for each in small_release.files),
                             release.folder / SIGNATURE)  # fmt: skip
    path = release.folder / SIGNATURE
    assert (path.stat().st_mode & 0o777, path.stat().st_size) == (0o644, 64)
    own_key().public_key().verify(
        path.read_bytes(), (release.folder / "certificate.json").read_bytes()
    )
    assert accepted(release)
    assert not accepted(release, 2)
    for name in names(small_release.folder):
        assert (release.folder / name).read_bytes() == (small_release.folder / name).read_bytes()


def test_signature_covers_threads_and_data_sheet(publish):
    certificate = json.loads((publish().folder / "certificate.json").read_text())
    assert set(certificate["sha256"]) == {"threads.parquet", "DATASHEET.md"}


def test_publishing_again_changes_no_byte_with_or_without_the_key(tmp_path, publish, monkeypatch):
    first = publish()
    before = folder_state(tmp_path / "out")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1773187200")  # another certificate, if it were new
    assert publish() == first
    assert publish(signing_key=None) == first
    assert folder_state(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [(None, signer(), "is not signed"), (signer(2), signer(), "has a signature of another key")],
)
def test_existing_release_without_this_signature_is_refused(tmp_path, publish, first, second, seen):
    published = publish(signing_key=first)
    before = folder_state(tmp_path / "out")
    with pytest.raises(InvalidParameterError, match=f"published already, and {seen}"):
        publish(signing_key=second)
    assert folder_state(tmp_path / "out") == before
    published.folder.rename(tmp_path / "moved")
    assert accepted(publish(signing_key=second))


def test_existing_release_with_a_changed_signature_is_refused(publish):
    path = publish().folder / SIGNATURE
    path.write_bytes(bytes(64))
    with pytest.raises(InvalidParameterError, match="has a signature of another key"):
        publish()


def test_required_signature_needs_a_key(tmp_path, publish):
    with pytest.raises(InvalidParameterError, match=r"SETANON_SIGNING_KEY must be .* is required"):
        publish(signing_key=None, signature="required")
    assert not (tmp_path / "out").exists()
    assert accepted(publish(signature="required"))


def test_a_certificate_is_signed_when_it_is_approved(tmp_path, publish, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1773100800")
    waiting = publish(approval="required")
    assert not list((tmp_path / "out").rglob(f"*{SIGNATURE}"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1773187200")
    decided = decide(waiting.private, YES, signing_key=signer(2))
    verdict = verify_folder(decided.folder, private=waiting.private, keys=public_keys(2))
    assert verdict.failures == []
    certificate = json.loads((decided.folder / "certificate.json").read_text())
    assert certificate["published"] == "2026-03-11"


def test_release_with_the_signature_of_its_approval_is_run_again_with_another_key(
    tmp_path, publish
):
    waiting = publish(approval="required")
    decide(waiting.private, YES, signing_key=signer(2))
    before = folder_state(tmp_path / "out")
    assert publish(approval="required", signing_key=signer()).state == "published"
    assert folder_state(tmp_path / "out") == before


def test_required_signature_is_required_of_the_approval_too(tmp_path, publish):
    waiting = publish(approval="required", signature="required", signing_key=None)
    assert waiting.state == "waiting"
    before = folder_state(tmp_path / "out")
    with pytest.raises(InvalidParameterError, match="SETANON_SIGNING_KEY must be"):
        decide(waiting.private, YES)
    assert folder_state(tmp_path / "out") == before
    assert decide(waiting.private, YES, signing_key=signer()).folder is not None


def test_request_that_waits_for_no_signature_is_replaced_by_one_that_does(publish):
    waiting = publish(approval="required")
    assert publish(approval="required", signature="required") == waiting
    with pytest.raises(InvalidParameterError, match="SETANON_SIGNING_KEY must be"):
        decide(waiting.private, YES)


def test_a_rejection_needs_no_key(publish):
    waiting = publish(approval="required", signature="required")
    assert decide(waiting.private, Decision(by="Ada", approved=False)).folder is None


def test_published_release_without_the_required_signature_is_refused(publish):
    publish(signing_key=None)
    with pytest.raises(InvalidParameterError, match="is not signed"):
        publish(approval="required", signature="required", signing_key=None)


def stop(*_):
    raise InterruptedError


def test_interrupted_approval_is_finished_with_the_same_signature(tmp_path, publish, monkeypatch):
    waiting = publish(approval="required")
    with monkeypatch.context() as patch:
        patch.setattr(Series, "switch_latest", stop)
        with pytest.raises(InterruptedError):
            decide(waiting.private, YES, signing_key=signer())
    public = folder_state(tmp_path / "out" / "releases" / "demo" / waiting.name)
    with pytest.raises(InvalidParameterError, match="signature of another key"):
        decide(waiting.private, YES, signing_key=signer(2))
    decided = decide(waiting.private, YES, signing_key=signer())
    assert folder_state(decided.folder) == public


KEYS = {
    "a key of another type": private_pem(rsa.generate_private_key(65537, 2048)),
    "key of another type": private_pem(ec.generate_private_key(ec.SECP256R1())),
    "it has a key of another type": private_pem(ed448.Ed448PrivateKey.generate()),
    "it has none": public_pem(own_key()),
    "; it has none": b"",
    "only; it has none": b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    "it has no passphrase. Set or unset SETANON_SIGNING_PASSPHRASE": private_pem(
        own_key(), PASSPHRASE
    ),
}


@pytest.mark.parametrize("message", KEYS)
def test_unusable_key_is_refused(set_key, message):
    set_key(KEYS[message])
    with pytest.raises(InvalidParameterError) as caught:
        environment_key()
    assert message in str(caught.value)


def test_encrypted_key_needs_its_passphrase_and_a_plain_one_has_none(set_key):
    set_key(private_pem(own_key(), PASSPHRASE), PASSPHRASE.decode())
    assert environment_key().sign(b"text") == own_key().sign(b"text")
    set_key(private_pem(own_key(), PASSPHRASE), "another")
    with pytest.raises(InvalidParameterError, match="its passphrase is another one"):
        environment_key()
    set_key(private_pem(own_key()), "superfluous")
    with pytest.raises(InvalidParameterError, match="it is not encrypted, and there is a pass"):
        environment_key()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o644])
def test_key_that_others_have_permissions_for_is_refused(set_key, mode):
    set_key(private_pem(own_key()), mode=mode)
    with pytest.raises(InvalidParameterError, match=f"mode {mode:04o}. Run: chmod 600"):
        environment_key()


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda _: None, "it cannot be read (FileNotFoundError)"),
        (lambda path: path.mkdir(), "it is not a regular file"),
        (os.mkfifo, "it is not a regular file"),
    ],
)
def test_path_that_is_not_a_file_is_refused(tmp_path, monkeypatch, make, seen):
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(tmp_path / "key"))
    make(tmp_path / "key")
    with pytest.raises(InvalidParameterError) as caught:
        environment_key()
    assert seen in str(caught.value)


def test_a_link_to_a_private_file_is_followed(tmp_path, set_key, monkeypatch):
    """Container platforms mount secrets as links."""
    path = set_key(private_pem(own_key()))
    (tmp_path / "link").symlink_to(path)
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(tmp_path / "link"))
    assert environment_key() is not None
    path.chmod(0o640)
    with pytest.raises(InvalidParameterError, match="mode 0640"):
        environment_key()


def test_no_variable_means_no_key(monkeypatch):
    assert environment_key() is None
    monkeypatch.setenv("SETANON_SIGNING_KEY", "")
    assert environment_key() is None


def test_key_is_in_no_representation():
    assert "igning" not in repr(ReleaseSpec(name="demo", k=3, signing_key=signer()))
    assert "SigningKey object at" in repr(signer())


def test_run_signs_with_the_key_of_the_environment_and_shows_nothing_of_it(tmp_path, monkeypatch):
    key, _ = write_keys(tmp_path)
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(key))
    config = release_config(tmp_path, signature="required")
    result = materialize(config)
    assert result.success, result.failures
    release = releases_folder(config) / latest_release(config)
    private = config.private / release.name
    assert verify_folder(release, private=private, keys=public_keys()).failures == []
    secret = own_key().private_bytes_raw()
    stored = b"".join(path.read_bytes() for path in config.folder.rglob("*") if path.is_file())
    shown = result.events + str(result.metadata)
    for text in (key.read_text().splitlines()[1], secret.hex(), str(key)):
        assert text not in shown
        assert text.encode() not in stored
    assert secret not in stored


def test_unusable_key_is_refused_before_the_source_is_read(tmp_path, set_key):
    set_key(private_pem(own_key()), mode=0o640)
    result = materialize(release_config(tmp_path))
    assert "readable by its owner only" in result.failures[0]
    assert (result.metadata, result.retries) == ({}, 0)
    result = call("release", write_log(tmp_path), "--k", 3, "--out", tmp_path / "o")
    assert result.exit_code == 2
    assert 'Run: chmod 600 "$SETANON_SIGNING_KEY"' in result.stderr
    assert not (tmp_path / "o" / "private" / "stages").exists()


def test_run_that_waits_for_approval_reads_no_key(set_key):
    set_key(b"not a key")
    assert signing_key("required", "required") is None
    with pytest.raises(InvalidParameterError, match="it has none"):
        signing_key("none", "optional")


def test_command_release_requires_the_key(tmp_path):
    log = write_log(tmp_path)
    result = call("release", log, "--k", 3, "--out", tmp_path / "o", "--signature", "required")
    assert result.exit_code == 2
    assert "SETANON_SIGNING_KEY must be the path" in result.stderr
    assert not (tmp_path / "o" / "private" / "stages").exists()


def test_command_approve_signs(tmp_path, publish, monkeypatch):
    waiting = publish(approval="required", signature="required")
    result = call("approve", waiting.private, "--by", "Ada")
    assert result.exit_code == 2
    assert "SETANON_SIGNING_KEY must be the path" in result.stderr
    key, public = write_keys(tmp_path)
    key.chmod(0o644)
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(key))
    result = call("approve", waiting.private, "--by", "Ada")
    assert result.exit_code == 2
    assert "mode 0644" in result.stderr
    assert not list((tmp_path / "out" / "releases").iterdir())
    key.chmod(0o600)
    result = call("approve", waiting.private, "--by", "Ada")
    assert result.exit_code == 0
    assert SIGNATURE in result.stdout
    folder = tmp_path / "out" / "releases" / "demo" / "latest"
    assert call("verify", folder, "--key", public).exit_code == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_makes_keys_verifies_signatures_and_makes_equal_ones(
    tmp_path, publish, monkeypatch
):
    def openssl(*arguments):
        command = ["openssl", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603
        if "not found" in result.stderr or "unknown option" in result.stderr.lower():
            pytest.skip("this openssl has no Ed25519")
        return result

    assert openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem").returncode == 0
    assert openssl("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem").returncode == 0
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(tmp_path / "key.pem"))
    folder = publish(signing_key=environment_key()).folder
    assert call("verify", folder, "--key", tmp_path / "public.pem").exit_code == 0
    certificate, signature = folder / "certificate.json", folder / SIGNATURE
    data = ("-rawin", "-in", certificate)
    check = ("pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", *data, "-sigfile", signature)
    assert openssl(*check).returncode == 0
    made = ("pkeyutl", "-sign", "-inkey", "key.pem", *data, "-out", "made.sig")
    assert openssl(*made).returncode == 0
    assert (tmp_path / "made.sig").read_bytes() == signature.read_bytes()
    openssl(
        "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x y", "-out", "locked.pem"
    )
    monkeypatch.setenv("SETANON_SIGNING_KEY", str(tmp_path / "locked.pem"))
    monkeypatch.setenv("SETANON_SIGNING_PASSPHRASE", "x y")
    assert environment_key() is not None


def test_missing_package_is_named(set_key, monkeypatch):
    set_key(private_pem(own_key()))
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(SetanonError, match=r"pip install 'setanon\[sign\]'"):
        environment_key()
