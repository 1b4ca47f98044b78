"""Order of the steps of the gate: it copies, verifies, stores private files, then publishes."""

import os
from pathlib import Path

import duckdb
import pytest
from support.publishing import K, folder_state, latest_name, modify, publish_files, stage_files

from setanon_core.errors import NotAnonymousError
from setanon_dagster.gate import publish as gate


def replace_before(monkeypatch, step, old, new):
    """Replace the stage files by those of another run, just before a step of the gate."""
    original = getattr(gate, step)

    def replace_and_call(*args, **kwargs):
        for stage in ("ledger", "clusters", "cost_report", "rejected_rows"):
            if new[stage].exists():
                new[stage].replace(old[stage])
        return original(*args, **kwargs)

    monkeypatch.setattr(gate, step, replace_and_call)


STEPS = ("write_with_ids", "verify_file", "wrong_ledger_entries", "counted_unit")


@pytest.mark.parametrize("step", STEPS)
def test_replaced_stage_files_do_not_change_the_release(tmp_path, monkeypatch, small_release, step):
    paths = stage_files(tmp_path / "in")
    # In these files one user has all keywords and threads, and the cost report is empty.
    other = stage_files(tmp_path / "other", users=1, word="other")
    modify(other, "cost_report", lambda table: table.slice(0, 0))
    replace_before(monkeypatch, step, paths, other)
    release = publish_files(paths, tmp_path / "out")
    assert folder_state(release.folder) == folder_state(small_release.folder)
    assert folder_state(release.private) == folder_state(small_release.private)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("bad", ["ledger", "clusters"])
def test_replaced_stage_files_do_not_make_a_bad_release_good(tmp_path, monkeypatch, step, bad):
    paths, good = stage_files(tmp_path / "in"), stage_files(tmp_path / "good")
    stage_files(tmp_path / "one", users=1, word="other")[bad].replace(paths[bad])
    replace_before(monkeypatch, step, paths, good)
    with pytest.raises(NotAnonymousError):
        publish_files(paths, tmp_path / "out")
    assert not list((tmp_path / "out" / "releases").iterdir())


@pytest.mark.parametrize("form", ["sets", "queries"])
def test_release_does_not_depend_on_the_order_of_the_stage(tmp_path, form):
    expected = publish_files(stage_files(tmp_path / "in", form), tmp_path / "due", format=form)
    paths = stage_files(tmp_path / "in", form)
    modify(paths, "anonymized_threads", lambda table: table.take(list(range(len(table)))[::-1]))
    release = publish_files(paths, tmp_path / "out", format=form)
    assert folder_state(release.folder) == folder_state(expected.folder)


def test_bytes_do_not_depend_on_row_groups_cores_or_order(tmp_path):
    files = []
    for order in ("n", "-n"):
        stage, ledger = tmp_path / "stage.parquet", tmp_path / "ledger.parquet"
        with duckdb.connect() as connection:
            connection.sql(
                f"""SELECT n // 3 AS thread, 0 AS "group", n % 3 AS position,
                    'pine ' || n % 977 AS query FROM range(150000) AS rows(n) ORDER BY {order}"""  # noqa: S608
            ).write_parquet(str(stage), row_group_size=5_000 if order == "n" else 200_000)
            connection.sql(
                f"""SELECT n AS thread, 'user' AS "user"
                    FROM range(50000) AS rows(n) ORDER BY {order}"""  # noqa: S608
            ).write_parquet(str(ledger))
        for cores in (1, 3):
            limits = {"cores": cores, "memory": None, "spill": tmp_path}
            targets = {"public": tmp_path / "public", "private": tmp_path / "private"}
            gate.write_with_ids(stage, ledger, b"key", "queries", limits, **targets)
            files.append([target.read_bytes() for target in targets.values()])
    assert files == files[:1] * 4


def record_events(monkeypatch):
    """All renames and fsyncs, in their order."""
    events = []

    def record(name, original):
        def call(source, target, *args, **kwargs):
            events.append(("renamed", Path(target)))
            return original(source, target, *args, **kwargs)

        monkeypatch.setattr(os, name, call)

    for name in ("rename", "replace"):
        record(name, getattr(os, name))
    original = os.fsync

    def fsync(handle):
        events.append(("fsynced", Path(f"/proc/self/fd/{handle}").resolve()))
        return original(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return events


def test_private_files_are_on_disk_before_publication(tmp_path, monkeypatch):
    out = tmp_path.resolve() / "out"
    paths = stage_files(tmp_path / "in")
    events = record_events(monkeypatch)
    release = publish_files(paths, out)
    index = events.index
    public = index(("renamed", release.folder))
    assert index(("renamed", release.private)) < public
    assert index(("fsynced", release.private)) < public
    assert index(("fsynced", release.private.parent)) < public
    latest = index(("renamed", out / "releases" / "demo" / "latest"))
    assert public < latest
    assert ("fsynced", out / "releases" / "demo") in events[public:latest]
    assert ("fsynced", out / "releases" / "demo") in events[latest:]


def test_failure_to_store_private_files_stops_the_release(tmp_path, monkeypatch, small_copy):
    paths = stage_files(tmp_path / "in", threads=10)

    def disk_full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gate, "store_private_files", disk_full)
    with pytest.raises(OSError, match="No space"):
        publish_files(paths, tmp_path / "out")
    assert latest_name(tmp_path / "out") == small_copy.name
    assert {path.name for path in (tmp_path / "out" / "releases" / "demo").iterdir()} == {
        small_copy.name,
        "latest",
    }
    assert small_copy.verdict.smallest_group == K
