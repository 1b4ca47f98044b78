"""The gate does things in an order: what it has verified is what it keeps, and that comes first."""

import os
from pathlib import Path

import duckdb
import pytest
from support.publishing import K, inputs, link_of, published, spoil, tree

from setanon_core.errors import NotAnonymousError
from setanon_dagster.gate import publish as gate


def swapped_before(monkeypatch, step, old, new):
    """Have another run put its files in place of these, just before a step of the gate."""
    real = getattr(gate, step)

    def late(*args, **kwargs):
        for what in ("ledger", "clusters", "cost_report", "rejected_rows"):
            if new[what].exists():
                new[what].replace(old[what])
        return real(*args, **kwargs)

    monkeypatch.setattr(gate, step, late)


STEPS = ("_write_threads", "verify_file", "wrong_ledger_entries", "counted_unit")


@pytest.mark.parametrize("step", STEPS)
def test_what_was_held_is_verified_whatever_replaces_it(tmp_path, monkeypatch, step):
    due = published(inputs(tmp_path / "in"), tmp_path / "due")
    paths = inputs(tmp_path / "in")
    # By these files all words are of one user, and all threads too; and nothing has a cost.
    other = inputs(tmp_path / "other", users=1, word="other")
    spoil(other, "cost_report", lambda table: table.slice(0, 0))
    swapped_before(monkeypatch, step, paths, other)
    done = published(paths, tmp_path / "out")
    assert tree(done.folder) == tree(due.folder)
    assert tree(done.private) == tree(due.private)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("bad", ["ledger", "clusters"])
def test_nothing_that_comes_later_makes_a_bad_release_good(tmp_path, monkeypatch, step, bad):
    paths, good = inputs(tmp_path / "in"), inputs(tmp_path / "good")
    inputs(tmp_path / "one", users=1, word="other")[bad].replace(paths[bad])
    swapped_before(monkeypatch, step, paths, good)
    with pytest.raises(NotAnonymousError):
        published(paths, tmp_path / "out")
    assert not list((tmp_path / "out" / "releases").iterdir())


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_the_order_in_which_threads_come_does_not_show(tmp_path, form):
    due = published(inputs(tmp_path / "in", form), tmp_path / "due", format=form)
    paths = inputs(tmp_path / "in", form)
    spoil(paths, "anonymized_threads", lambda table: table.take(list(range(len(table)))[::-1]))
    done = published(paths, tmp_path / "out", format=form)
    assert tree(done.folder) == tree(due.folder)


def test_the_bytes_do_not_tell_how_the_threads_were_stored_or_whether_they_were_sorted(tmp_path):
    made, files = tmp_path / "made.parquet", []
    for rows in (5_000, 1_000_000):
        with duckdb.connect() as connection:
            connection.sql(
                """SELECT printf('%032x', n // 3) AS thread_id, 0 AS "group", n % 3 AS position,
                    'pine ' || n % 977 AS query FROM range(300000) AS rows(n)"""
            ).write_parquet(str(made), row_group_size=rows)
        for threads in (1, 3):
            for order in (False, True):
                limits = {"cores": threads, "memory": None, "spill": tmp_path}
                target = tmp_path / f"{len(files)}.parquet"
                gate._write_threads(made, target, "queries", limits, sort=order)  # noqa: SLF001
                files.append(target.read_bytes())
    assert len(set(files)) == 1


def watched(monkeypatch):
    """Every name that is given, and every folder that is flushed, in their order."""
    events = []

    def record(name, real):
        def call(source, target, *args, **kwargs):
            events.append(("named", Path(target)))
            return real(source, target, *args, **kwargs)

        monkeypatch.setattr(os, name, call)

    for name in ("rename", "replace"):
        record(name, getattr(os, name))
    real = os.fsync

    def fsync(handle):
        events.append(("flushed", Path(f"/proc/self/fd/{handle}").resolve()))
        return real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return events


def test_private_files_are_on_disk_before_there_is_anything_public(tmp_path, monkeypatch):
    out = tmp_path.resolve() / "out"
    paths = inputs(tmp_path / "in")
    events = watched(monkeypatch)
    done = published(paths, out)
    at = events.index
    public = at(("named", done.folder))
    for what in ("ledger", "cost", "rejected"):
        assert at(("named", done.private / f"{what}.parquet")) < public
    assert at(("flushed", done.private)) < public
    assert at(("flushed", done.private.parent)) < public
    latest = at(("named", out / "releases" / "latest"))
    assert public < latest
    assert ("flushed", out / "releases") in events[public:latest]
    assert ("flushed", out / "releases") in events[latest:]


def test_private_files_that_cannot_be_kept_stop_the_release(tmp_path, monkeypatch):
    first = published(inputs(tmp_path / "first"), tmp_path / "out")
    paths = inputs(tmp_path / "in", threads=10)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gate, "_store_private_files", full)
    with pytest.raises(OSError, match="No space"):
        published(paths, tmp_path / "out")
    assert link_of(tmp_path / "out") == first.name
    assert {path.name for path in (tmp_path / "out" / "releases").iterdir()} == {
        first.name,
        "latest",
    }
    assert first.verdict.smallest_group == K
