"""Atomic writes: complete files with their mode, or no change."""

import stat

import pytest

from setanon_dagster.storage.atomic import atomic_write


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_gets_its_name_and_mode_when_it_is_complete(tmp_path):
    target = tmp_path / "page.html"
    with atomic_write(target, 0o644) as file:
        assert (mode(file), file.parent, file.suffix) == (0o600, tmp_path, ".part")
        assert not target.exists()
        file.write_text("pine")
    assert (target.read_text(), mode(target)) == ("pine", 0o644)
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_write_keeps_the_old_file_and_leaves_no_temporary_file(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(LookupError), atomic_write(target) as file:
        {}[file.write_text("half")]
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
