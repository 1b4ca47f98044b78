"""Series of releases: one folder and one `latest` per name, of its newest part."""

import re

import pytest
from support.publishing import latest_name, publish_files, stage_files
from support.terminal import call

from setanon_core.errors import InvalidParameterError
from setanon_dagster.gate.series import Series
from setanon_dagster.verifier.release_series import published_releases

DIGEST = "0123456789ab" + "0" * 52


def add_release(series, digest=DIGEST):
    """A release folder with an empty file of threads; return its name."""
    name = series.release_id(digest)
    (series.folder / name).mkdir(parents=True, exist_ok=True)
    (series.folder / name / "threads.parquet").touch()
    return name


def switch(out, part, digest=DIGEST):
    series = Series(out, "searches", part)
    series.switch_latest(add_release(series, digest))
    return str((series.folder / "latest").readlink())


def test_latest_is_replaced_and_leaves_nothing_else(tmp_path):
    for digest in ("a" * 64, "b" * 64):
        assert switch(tmp_path, None, digest) == f"searches-{digest[:12]}"
    assert {path.name for path in (tmp_path / "releases").iterdir()} == {"searches"}
    names = {"searches-aaaaaaaaaaaa", "searches-bbbbbbbbbbbb", "latest"}
    assert {path.name for path in (tmp_path / "releases" / "searches").iterdir()} == names


def test_latest_of_parts_is_the_newest_part_in_whatever_order_they_come(tmp_path):
    newest = "searches-2006-03-02-0123456789ab"
    assert switch(tmp_path, "2006-03-01") == "searches-2006-03-01-0123456789ab"
    assert switch(tmp_path, "2006-03-02") == newest
    assert switch(tmp_path, "2006-02-28") == newest
    assert switch(tmp_path, "2006-03-02", "f" * 64) == "searches-2006-03-02-ffffffffffff"


def test_latest_that_leads_nowhere_is_replaced_by_an_older_part(tmp_path):
    switch(tmp_path, "2006-03-02")
    folder = tmp_path / "releases" / "searches"
    (folder / "searches-2006-03-02-0123456789ab").rename(tmp_path / "elsewhere")
    assert switch(tmp_path, "2006-03-01") == "searches-2006-03-01-0123456789ab"


def test_two_names_in_one_output_folder_have_a_latest_each(tmp_path):
    out = tmp_path / "out"
    first = publish_files(stage_files(tmp_path / "a"), out, name="first")
    second = publish_files(stage_files(tmp_path / "b", threads=10), out, name="second")
    assert (latest_name(out, "first"), latest_name(out, "second")) == (first.name, second.name)
    assert not first.warnings
    assert published_releases(out, "first") == [first.folder]


def test_releases_of_the_earlier_layout_stay_and_are_named(tmp_path):
    out = tmp_path / "out"
    old = publish_files(stage_files(tmp_path / "a"), out)
    old.folder.rename(out / "releases" / old.name)
    (out / "releases" / "demo" / "latest").unlink()
    (out / "releases" / "demo").rmdir()
    (out / "releases" / "latest").symlink_to(old.name)
    new = publish_files(stage_files(tmp_path / "b", threads=10), out)
    [warning] = new.warnings
    assert "1 releases of demo are not in releases/demo" in warning
    assert (out / "releases" / "latest").readlink().name == old.name
    assert published_releases(out, "demo") == [new.folder, out / "releases" / old.name]
    assert latest_name(out) == new.name
    # The same threads again: the old folder stays, and the private files are shared.
    again = publish_files(stage_files(tmp_path / "a"), out)
    assert (again.name, again.folder.parent.name) == (old.name, "demo")
    assert (out / "releases" / old.name / "threads.parquet").is_file()


@pytest.mark.parametrize("name", ["latest", "", "-a", "a/b", "a" * 101])
def test_names_that_cannot_be_folders_are_refused(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="name must be"):
        Series(tmp_path, name)


@pytest.mark.parametrize("place", ["releases/demo", "releases/demo/latest"])
def test_files_where_the_series_belongs_are_not_replaced(tmp_path, place):
    path = tmp_path / "out" / place
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(InvalidParameterError, match=f"{place} must be .* Move it"):
        publish_files(stage_files(tmp_path / "in"), tmp_path / "out")
    assert path.read_text() == "mine"


@pytest.fixture
def series(tmp_path):
    out = tmp_path / "out"
    for part, threads in (("2006-03-01", 9), ("2006-03-02", 10)):
        publish_files(stage_files(tmp_path / part, threads=threads), out, part=part)
    return out / "releases" / "demo"


def test_all_releases_of_a_name_are_verified_with_their_ledgers(series):
    result = call("verify", series, "--private", series.parents[1] / "private")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count(" is a release that is k-anonymous for k = 3.") == 2
    assert "users: without the ledger" not in result.stdout
    result = call("verify", series, "--ledger", series / "latest" / "threads.parquet")
    assert result.exit_code == 2
    assert "Pass --private DIR/private" in result.stderr


CHANGES = {
    "1 are foreign": lambda series: (series / "ledger.parquet").touch(),
    "1 are foreign files": lambda series: (series / ".temporary-0123456789abcdef").mkdir(),
    "demo-2006-03-01-[0-9a-f]{12}: .*digests differ": lambda series: (
        next(series.glob("*-01-*"))
        .joinpath("threads.parquet")
        .write_bytes((series / "latest/threads.parquet").read_bytes())
    ),
    "latest must be a link to a release": lambda series: (series / "latest").unlink(),
    "latest must be a link to a release of the folder": lambda series: next(
        series.glob("*-02-*")
    ).rename(series.parent / "moved"),
}


@pytest.mark.parametrize("message", CHANGES)
def test_series_with_anything_else_is_refused(series, message):
    CHANGES[message](series)
    result = call("verify", series)
    assert result.exit_code == 1
    assert re.search(message, result.stderr.replace("\n", " "))


def test_folder_without_releases_is_no_series(tmp_path):
    result = call("verify", tmp_path)
    assert result.exit_code == 2
    assert "must be the folder of a release, or of the releases of a name" in result.stderr
