"""Held files: the opened file is read, however its path, bytes, times or links change later."""

import os
from hashlib import sha256

import pytest

from setanon_core.errors import MalformedInputError
from setanon_dagster.gate.held_files import hold_file


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"first")
    # Long ago, so that every later write changes the time.
    os.utime(path, ns=(10**18, 10**18))
    return path


def replaced(path):
    other = path.with_name("other")
    other.write_bytes(b"first")
    os.utime(other, ns=(10**18, 10**18))
    other.replace(path)


def test_an_unchanged_file_is_the_file_at_its_path(path):
    with hold_file(path, "stage") as held:
        assert held.is_unchanged()
        assert held.is_at(path)
        assert held.digest() == sha256(b"first").hexdigest()
        assert held.path.read_bytes() == b"first"
        assert held.name == "stage"
        assert not held.is_at(path.with_name("absent"))


def test_a_replaced_file_is_still_read_but_is_not_at_its_path(path):
    with hold_file(path, "stage") as held:
        path.rename(path.with_name("old"))
        path.write_bytes(b"second")

        assert held.digest() == sha256(b"first").hexdigest()
        assert not held.is_at(path)


def test_a_file_with_equal_bytes_and_times_is_not_the_held_file(path):
    with hold_file(path, "stage") as held:
        replaced(path)

        assert not held.is_at(path)
        assert not held.is_at(path, renamed=True)


def test_a_link_to_the_held_file_is_not_the_held_file(path):
    link = path.with_name("link")
    link.symlink_to(path)
    with hold_file(path, "stage") as held:
        assert not held.is_at(link)


@pytest.mark.parametrize("renamed", [False, True])
def test_bytes_changed_in_place_are_detected(path, renamed):
    with hold_file(path, "stage") as held:
        path.write_bytes(b"other")

        assert not held.is_unchanged(renamed=renamed)
        assert not held.is_at(path, renamed=renamed)


def test_a_changed_size_is_detected_although_the_time_was_reset(path):
    with hold_file(path, "stage") as held:
        path.write_bytes(b"longer bytes")
        os.utime(path, ns=(10**18, 10**18))

        assert not held.is_unchanged(renamed=True)


def test_bytes_changed_with_the_time_reset_are_detected_by_the_time_of_the_inode(path):
    with hold_file(path, "stage") as held:
        path.write_bytes(b"other")
        os.utime(path, ns=(10**18, 10**18))

        assert not held.is_unchanged()
        assert not held.is_at(path)
        # Only its time of the inode differs, which renaming changes, too.
        assert held.is_unchanged(renamed=True)


def test_a_renamed_file_is_unchanged_if_that_is_expected(path):
    moved = path.with_name("moved")
    with hold_file(path, "stage") as held:
        path.rename(moved)

        assert held.is_at(moved, renamed=True)
        assert held.is_unchanged(renamed=True)
        assert not held.is_at(path, renamed=True)


def test_an_unlinked_file_is_unchanged(path):
    with hold_file(path, "stage") as held:
        path.unlink()

        assert held.is_unchanged()


def test_other_kinds_of_files_are_refused(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for other in (fifo, tmp_path):
        with (
            pytest.raises(MalformedInputError, match="stage must be a regular file"),
            hold_file(other, "stage"),
        ):
            pass


def test_the_file_is_closed_afterwards(path):
    with hold_file(path, "stage") as held:
        pass
    with pytest.raises(OSError, match="Bad file descriptor"):
        held.is_unchanged()
