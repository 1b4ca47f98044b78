"""Permissions of private folders and output folders."""

import os
import stat

import pytest

from setanon_dagster.storage.folders import make_folder, private_folder


@pytest.fixture(autouse=True)
def _no_umask():
    old = os.umask(0)
    yield
    os.umask(old)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_folder_and_its_missing_parents_have_mode_0700(tmp_path):
    folder = private_folder(tmp_path / "a" / "b")
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)


def test_missing_parents_of_a_folder_named_private_have_mode_0755(tmp_path):
    folder = private_folder(tmp_path / "out" / "private" / "log")
    modes = [mode(path) for path in (folder, folder.parent, folder.parent.parent)]
    assert modes == [0o700, 0o700, 0o755]


def test_private_folder_does_not_change_existing_folders(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    assert mode(private_folder(tmp_path / "open")) == 0o755


def test_make_folder_sets_the_mode_of_an_existing_folder(tmp_path):
    assert mode(make_folder(tmp_path / "out" / "releases", 0o755)) == 0o755
    assert mode(tmp_path / "out") == 0o755
    assert mode(make_folder(tmp_path / "out" / "releases", 0o700)) == 0o700
