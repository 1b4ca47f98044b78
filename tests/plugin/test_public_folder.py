"""Folders of a release: only the verified files get the public name; others are refused."""

import json
from contextlib import ExitStack
from hashlib import sha256

import pytest

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_dagster.gate.held_files import hold_file
from setanon_dagster.gate.public_folder import (
    check_existing,
    publish_folder,
    require_same_files,
    store_private_files,
)
from setanon_dagster.storage.temporary import UNPUBLISHED

THREADS, CERTIFICATE, DATASHEET = "threads.parquet", "certificate.json", "DATASHEET.md"
BYTES = b"threads of a release"
DIGEST = sha256(BYTES).hexdigest()
SHEET = b"# Release\n"


def certificate(k=3, version="1", **changed):
    digests = {THREADS: DIGEST, DATASHEET: sha256(SHEET).hexdigest()}
    fields = {"k": k, "sha256": digests, "versions": {"setanon": version}}
    return json.dumps(fields | changed).encode()


CONTENTS = {CERTIFICATE: certificate(), DATASHEET: SHEET}


def stage(folder, contents=CONTENTS):
    folder.mkdir(parents=True)
    (folder / THREADS).write_bytes(BYTES)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def staged(tmp_path):
    return stage(tmp_path / "releases" / "staged")


@pytest.fixture
def publish(staged):
    """Publish the staged folder; `change` is called after the file was opened."""

    def publish(change=lambda: None, name="release", contents=CONTENTS):
        with ExitStack() as opened:
            threads = opened.enter_context(hold_file(staged / THREADS, THREADS))
            change()
            publish_folder(staged, staged.parent / name, threads, DIGEST, contents)
        return staged.parent / name

    return publish


def test_the_verified_files_get_the_public_name(publish, staged):
    folder = publish()

    assert {path.name for path in folder.iterdir()} == {THREADS, CERTIFICATE, DATASHEET}
    assert (folder / THREADS).read_bytes() == BYTES
    assert folder.stat().st_mode & 0o777 == 0o755
    assert not staged.exists()


def replace_threads(staged):
    (staged / "other").write_bytes(BYTES)
    (staged / "other").replace(staged / THREADS)


CHANGES = {
    "threads replaced": replace_threads,
    "threads overwritten": lambda staged: (staged / THREADS).write_bytes(BYTES[::-1]),
    "certificate changed": lambda staged: (staged / CERTIFICATE).write_text("{}"),
    "data sheet changed": lambda staged: (staged / DATASHEET).write_text("# Other\n"),
    "data sheet missing": lambda staged: (staged / DATASHEET).unlink(),
    "a file added": lambda staged: (staged / "ledger.parquet").write_bytes(b"private"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_files_that_were_changed_before_the_rename_are_not_published(publish, staged, change):
    with pytest.raises(NotAnonymousError, match="Nothing was published"):
        publish(lambda: CHANGES[change](staged))
    assert not (staged.parent / "release").exists()


@pytest.mark.parametrize(
    "contents", [CONTENTS | {"notes.txt": b""}, {CERTIFICATE: CONTENTS[CERTIFICATE]}]
)
def test_only_the_files_of_a_release_are_published(publish, staged, contents):
    """Whatever the caller wants to publish."""
    (staged / DATASHEET).unlink()
    for name, data in contents.items():
        (staged / name).write_bytes(data)
    with pytest.raises(NotAnonymousError, match="the release folder"):
        publish(contents=contents)


def test_a_link_to_a_certificate_is_not_published(publish, staged, tmp_path):
    def link():
        (tmp_path / "elsewhere").write_bytes(CONTENTS[CERTIFICATE])
        (staged / CERTIFICATE).unlink()
        (staged / CERTIFICATE).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(NotAnonymousError, match=CERTIFICATE):
        publish(link)


@pytest.mark.parametrize("change", CHANGES)
def test_files_that_are_changed_during_the_rename_lose_the_public_name(
    publish, staged, monkeypatch, change
):
    rename = type(staged).rename

    def rename_then_change(path, target):
        result = rename(path, target)
        if path == staged:
            CHANGES[change](target)
        return result

    monkeypatch.setattr(type(staged), "rename", rename_then_change)

    with pytest.raises(NotAnonymousError, match="Nothing was published"):
        publish()
    assert list(staged.parent.iterdir()) == []


def test_a_release_that_exists_already_is_kept(publish, staged):
    existing = stage(staged.parent / "release")

    assert publish() == existing
    assert (existing / THREADS).read_bytes() == BYTES


def test_a_missing_folder_is_no_existing_release(staged):
    check_existing(staged.parent / "absent", staged, DIGEST)


def test_another_version_of_the_software_is_the_same_release(staged):
    other = {**CONTENTS, CERTIFICATE: certificate(version="2")}
    check_existing(stage(staged.parent / "release", other), staged, DIGEST)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({CERTIFICATE: certificate(k=4)}, "already published as release"),
        ({CERTIFICATE: b"not JSON"}, "has others"),
        ({CERTIFICATE: b"[" * 99_999}, "has others"),
        ({CERTIFICATE: b"[]"}, "has others"),
        ({CERTIFICATE: b'{"k": 3}'}, "has others"),
        ({CERTIFICATE: certificate(sha256=[])}, "has others"),
        ({CERTIFICATE: certificate(sha256={THREADS: DIGEST, DATASHEET: "0"})}, "has others"),
        ({CERTIFICATE: certificate(sha256={THREADS: "0" * 64})}, "has others"),
        ({DATASHEET: b"# Other\n"}, "has others"),
        ({"notes.txt": b"foreign"}, "has others"),
        ({THREADS: b"other bytes"}, "has others"),
    ],
)
def test_an_existing_folder_with_other_files_is_refused(staged, changed, message):
    existing = stage(staged.parent / "release", CONTENTS | changed)

    with pytest.raises(InvalidParameterError, match=message):
        check_existing(existing, staged, DIGEST)


@pytest.mark.parametrize("name", [THREADS, CERTIFICATE, DATASHEET])
def test_an_existing_folder_with_a_link_or_without_a_file_is_refused(staged, name):
    existing = stage(staged.parent / "release")
    (existing / name).rename(staged.parent / "elsewhere")
    with pytest.raises(InvalidParameterError, match="has others"):
        check_existing(existing, staged, DIGEST)
    (existing / name).symlink_to(staged.parent / "elsewhere")
    with pytest.raises(InvalidParameterError, match="has others"):
        check_existing(existing, staged, DIGEST)


def test_a_file_in_the_place_of_a_release_is_refused(staged):
    (staged.parent / "release").write_bytes(BYTES)
    with pytest.raises(InvalidParameterError, match="has others"):
        check_existing(staged.parent / "release", staged, DIGEST)


def test_an_existing_link_is_refused(staged):
    stage(staged.parent / "elsewhere")
    for target in ("elsewhere", "absent"):
        link = staged.parent / f"to-{target}"
        link.symlink_to(target)
        with pytest.raises(InvalidParameterError, match="has others"):
            check_existing(link, staged, DIGEST)


def private_files(folder):
    folder.mkdir(parents=True)
    (folder / "ledger.parquet").write_bytes(b"ledger")
    (folder / "cost.parquet").write_bytes(b"cost")
    return folder


@pytest.mark.parametrize("exists", [False, True])
def test_private_files_are_stored_before_the_release(tmp_path, exists):
    staged, target = (
        private_files(tmp_path / "private" / "staged"),
        tmp_path / "private" / "release",
    )
    if exists:
        private_files(target)
        (target / "ledger.parquet").write_bytes(b"old")

    with hold_file(staged / "ledger.parquet", "ledger.parquet") as ledger:
        store_private_files(staged, target, ledger)

    expected = {"ledger.parquet", "cost.parquet"} | (set() if exists else {UNPUBLISHED})
    assert {path.name for path in target.iterdir()} == expected
    if not exists:
        assert (target / UNPUBLISHED).stat().st_mode & 0o777 == 0o600
    assert (target / "ledger.parquet").read_bytes() == b"ledger"


def test_a_replaced_ledger_is_refused(tmp_path):
    staged = private_files(tmp_path / "private" / "staged")
    with hold_file(staged / "ledger.parquet", "ledger.parquet") as ledger:
        (staged / "other").write_bytes(b"ledger")
        (staged / "other").replace(staged / "ledger.parquet")
        with pytest.raises(NotAnonymousError, match=r"changed ledger\.parquet"):
            store_private_files(staged, tmp_path / "private" / "release", ledger)
    assert not (tmp_path / "private" / "release").exists()


def test_a_ledger_that_is_replaced_during_the_rename_is_refused(tmp_path, monkeypatch):
    staged, target = (
        private_files(tmp_path / "private" / "staged"),
        tmp_path / "private" / "release",
    )
    rename = type(staged).rename

    def rename_then_replace(path, new):
        rename(path, new)
        (target / "other").write_bytes(b"ledger")
        (target / "other").replace(target / "ledger.parquet")

    with hold_file(staged / "ledger.parquet", "ledger.parquet") as ledger:
        monkeypatch.setattr(type(staged), "rename", rename_then_replace)
        with pytest.raises(NotAnonymousError, match=r"changed ledger\.parquet"):
            store_private_files(staged, target, ledger)


def test_other_errors_of_a_rename_are_raised(publish, tmp_path, monkeypatch):
    staged = private_files(tmp_path / "private" / "staged")
    ledger = staged / "ledger.parquet"

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(type(staged), "rename", refuse)

    with pytest.raises(PermissionError):
        publish()
    with hold_file(ledger, ledger.name) as held, pytest.raises(PermissionError):
        store_private_files(staged, tmp_path / "private" / "release", held)


def test_a_release_of_other_bytes_with_the_same_name_is_not_replaced(publish, staged):
    existing = stage(staged.parent / "release", {**CONTENTS, THREADS: b"other bytes"})

    with pytest.raises(InvalidParameterError, match="has others"):
        publish()
    assert (existing / THREADS).read_text() == "other bytes"


def test_only_changed_files_are_named():
    require_same_files({"a": True, "b": True})
    with pytest.raises(NotAnonymousError, match=r"replaced or changed b, c\. Nothing"):
        require_same_files({"a": True, "b": False, "c": False})
