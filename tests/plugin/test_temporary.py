"""Temporary folders and files: removed with their process, never while it runs."""

import os
import signal
import stat
import time
from contextlib import ExitStack

import pytest

from setanon_dagster.storage import temporary
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.temporary import (
    UNPUBLISHED,
    hold,
    remove_all_leftovers,
    remove_leftovers,
    temporary_file,
    temporary_folder,
)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def fork(run):
    """Run a function in a forked process; return its pid when the function has said so."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        run(lambda: os.write(writer, b"."))
        signal.pause()
    os.close(writer)
    assert os.read(reader, 1) == b"."
    os.close(reader)
    return child


def kill(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def create_both(folder):
    def run(ready):
        resources = ExitStack()
        made = resources.enter_context(temporary_folder(folder))
        (made / "rows").write_text("private")
        path, _ = resources.enter_context(temporary_file(folder))
        path.write_text("private")
        ready()
        signal.pause()

    return run


def test_a_folder_is_private_and_removed_at_its_end(tmp_path):
    with pytest.raises(LookupError), temporary_folder(tmp_path) as folder:
        {}[(folder / "rows").write_text(oct(folder.stat().st_mode))]
    assert names_in(tmp_path) == []
    with temporary_folder(tmp_path) as folder:
        assert (folder.parent, stat.S_IMODE(folder.stat().st_mode)) == (tmp_path, 0o700)
    assert names_in(tmp_path) == []


def test_a_renamed_folder_stays(tmp_path):
    with temporary_folder(tmp_path) as folder:
        folder.rename(tmp_path / "release")
    assert names_in(tmp_path) == ["release"]


def test_leftovers_of_a_killed_process_are_removed_at_once_and_those_of_a_live_one_stay(tmp_path):
    killed, live = fork(create_both(tmp_path)), fork(create_both(tmp_path))
    try:
        before = set(names_in(tmp_path))
        assert len(before) == 4
        kill(killed)
        remove_leftovers(tmp_path)
        rest = set(names_in(tmp_path))
        assert len(rest) == 2
        assert all((tmp_path / name).stat() for name in rest)
    finally:
        kill(live)
    with temporary_folder(tmp_path) as folder:
        assert names_in(tmp_path) == [folder.name]


@pytest.mark.parametrize("seconds", [-1e9, 1e9])
def test_no_clock_is_used(tmp_path, seconds):
    child = fork(create_both(tmp_path))
    with temporary_folder(tmp_path) as mine:
        for path in tmp_path.iterdir():
            os.utime(path, (time.time() + seconds,) * 2)
        kill(child)
        remove_leftovers(tmp_path)
        assert names_in(tmp_path) == [mine.name]


def test_other_files_folders_and_links_are_left(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "rows").touch()
    names = [".temporary-", ".temporary-0123", "temporary-0123456789abcdef", "a.part", ".x.part"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".temporary-0123456789abcdef").symlink_to(target)
    (tmp_path / ".0123456789abcdef.part").symlink_to(target / "rows")
    before = names_in(tmp_path)
    remove_leftovers(tmp_path)
    assert names_in(tmp_path) == before
    assert names_in(target) == ["rows"]


def test_folders_of_other_users_are_left(tmp_path, monkeypatch):
    (tmp_path / ".temporary-0123456789abcdef").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    remove_leftovers(tmp_path)
    assert len(names_in(tmp_path)) == 1


def test_a_file_system_without_locks_keeps_everything(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(temporary.fcntl, "flock", no_locks)
    (tmp_path / ".temporary-0123456789abcdef").mkdir()
    with temporary_folder(tmp_path), temporary_folder(tmp_path):
        assert len(names_in(tmp_path)) == 3
    assert names_in(tmp_path) == [".temporary-0123456789abcdef"]


@pytest.mark.parametrize("create", [temporary_folder, temporary_file])
def test_what_is_removed_before_it_is_locked_is_created_again(tmp_path, monkeypatch, create):
    real, removed = temporary.fcntl.flock, []

    def flock(handle, operation):
        if operation == temporary.fcntl.LOCK_SH and not removed:
            removed.append(handle)
            remove_leftovers(tmp_path)  # another run, at the worst moment
            assert names_in(tmp_path) == []
        real(handle, operation)

    monkeypatch.setattr(temporary.fcntl, "flock", flock)
    with create(tmp_path) as made:
        path = made if create is temporary_folder else made[0]
        assert path.exists()
        remove_leftovers(tmp_path)
        assert names_in(tmp_path) == [path.name]
    assert removed
    assert names_in(tmp_path) == []


def test_leftovers_in_all_folders_of_an_output_folder_are_removed(tmp_path):
    folders = ["releases", "private", "private/stages/trial/threads", "private/trial-0123456789ab"]
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "kept.parquet").touch()
        (tmp_path / folder / ".0123456789abcdef.part").touch()
        (tmp_path / folder / ".temporary-0123456789abcdef").mkdir()
    remove_all_leftovers(tmp_path)
    files = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert [str(path.parent) for path in files] == sorted(folders)
    assert not list(tmp_path.rglob(".*"))


def test_a_missing_output_folder_is_not_created(tmp_path):
    remove_all_leftovers(tmp_path / "none")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("public", [False, True])
def test_private_files_of_a_release_that_was_never_published_are_removed(tmp_path, public):
    private = tmp_path / "private" / "trial-0123456789ab"
    private.mkdir(parents=True)
    for name in (UNPUBLISHED, "ledger.parquet"):
        (private / name).touch()
    if public:
        (tmp_path / "releases" / private.name).mkdir(parents=True)
    with hold(private):  # by a run that is about to publish
        remove_all_leftovers(tmp_path)
        assert names_in(private) == [UNPUBLISHED, "ledger.parquet"]
    remove_all_leftovers(tmp_path)
    assert private.exists() == public
    assert not public or names_in(private) == ["ledger.parquet"]


def test_ledgers_of_releases_that_were_moved_away_stay(tmp_path):
    private = tmp_path / "private" / "trial-0123456789ab"
    private.mkdir(parents=True)
    (private / "ledger.parquet").touch()
    remove_all_leftovers(tmp_path)
    assert names_in(private) == ["ledger.parquet"]


def test_the_folder_of_a_connection_lives_as_long_as_its_relations(tmp_path):
    connection = connect(temp_folder=tmp_path)
    relation = connection.sql("SELECT 1 AS one")
    remove_leftovers(tmp_path)
    assert len(names_in(tmp_path)) == 1
    del connection
    remove_leftovers(tmp_path)
    assert len(names_in(tmp_path)) == 1
    assert relation.fetchall() == [(1,)]
    del relation
    assert names_in(tmp_path) == []
