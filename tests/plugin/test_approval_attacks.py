"""Attacks on approvals: files swapped while they are approved, false requests, decisions at once.

What becomes public is what was verified and reported, or nothing.
"""

import json
import os
import threading
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.killed_approvals import killed_approvals
from support.publishing import folder_state, latest_name, publish_files, stage_files
from support.signing import public_keys, signer
from support.swaps import attack_at, replace, rewrite

from setanon_core.errors import SetanonError
from setanon_dagster.gate import approval, public_folder
from setanon_dagster.gate import publish as gate
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.decisions import Decision
from setanon_dagster.gate.waiting import Request
from setanon_dagster.verifier.release_folder import verify_folder

YES = Decision(by="Ada")
NO = Decision(by="Bob", approved=False)
DAY = "1773100800"

STEPS = [
    (Request, "changed_files", "after"),
    (approval, "certificate_files", "before"),
    (approval, "copy_public", "before"),
    (approval, "copy_public", "after"),
    (approval, "verify_folder", "before"),
    (approval, "verify_folder", "after"),
    (approval, "check_existing", "after"),
    (approval, "publish_folder", "before"),
    (public_folder, "fsync_folder", "after"),
]
"""Functions of an approval, from the comparison of the digests to the publication."""

FILES = ("threads.parquet", "certificate.json", "DATASHEET.md", "exact_certificate.json",
         "ledger.parquet", "certificate.json.sig")  # fmt: skip


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that runs a release in `tmp_path / "out"`, which waits for approval by default."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", DAY)
    paths = {}

    def run(threads=9, out="out", **changed):
        if threads not in paths:
            paths[threads] = stage_files(tmp_path / f"in{threads}", threads=threads)
        return publish_files(paths[threads], tmp_path / out, **{"approval": "required"} | changed)

    return run


@pytest.fixture
def expected(run):
    """The files of the undisturbed release."""
    release = run(out="undisturbed")
    return folder_state(decide(release.private, YES, signing_key=signer()).folder)


def other_bytes(name, path):
    """Contents that are as valid as possible, but not those that were verified."""
    if name == "threads.parquet":
        table = pa.table({"thread_id": ["0" * 32], "keywords": [["canaryunique"]]})
        parquet.write_table(table, path)
        return path.read_bytes()
    if name == "exact_certificate.json":
        exact = json.loads(path.read_text())
        exact["parameters"]["seed"] = 7
        exact["cost"]["deletions"] = 777
        return json.dumps(exact, indent=2).encode() + b"\n"
    if name == "ledger.parquet":
        # Users of other names: the release is as anonymous as before.
        ledger = parquet.read_table(path)
        users = [user.replace("canary", "forged") for user in ledger["user"].to_pylist()]
        index = ledger.column_names.index("user")
        forged = path.with_name("forged")
        parquet.write_table(ledger.set_column(index, "user", pa.array(users)), forged)
        data = forged.read_bytes()
        forged.unlink()
        return data
    return path.read_bytes()[:-1] + b"\n\n"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(each, marks=() if each[0] is STEPS[0] and each[1] is replace
                     else pytest.mark.slow)
        for each in product(STEPS, (replace, rewrite), FILES)
    ],
    ids=lambda each: "-".join((*each[0][1:], each[1].__name__, each[2])),
)  # fmt: skip
def test_file_swapped_while_it_is_approved_is_not_published(
    tmp_path, monkeypatch, run, expected, attack
):
    release, out = run(), tmp_path / "out"
    step, swap, name = attack
    bad = other_bytes("threads.parquet", tmp_path / "bad.parquet")

    def swap_files():
        places = [release.private / "waiting" / name, release.private / name]
        places += (out / "releases").glob(f".*/*/{name}")
        for path in filter(Path.is_file, places):
            swap(path, bad if name == "threads.parquet" else other_bytes(name, path))

    attack_at(monkeypatch, step, swap_files)
    try:
        decide(release.private, YES, signing_key=signer())
    except SetanonError:
        assert list((out / "releases").glob("[!.]*/*")) == []
    else:
        assert folder_state(out / "releases" / "demo" / "latest") == expected


def test_ledger_that_is_swapped_after_the_comparison_is_refused(tmp_path, monkeypatch, run):
    """Although the release is k-anonymous with the other ledger, too."""
    release, name = run(), "ledger.parquet"
    path = release.private / name
    attack_at(monkeypatch, STEPS[0], lambda: replace(path, other_bytes(name, path)))
    with pytest.raises(SetanonError, match=r"replaced or changed ledger\.parquet"):
        decide(release.private, YES)
    assert folder_state(tmp_path / "out" / "releases") == {}


def edit_request(private, changed):
    path = private / "waiting" / "request.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))


REQUESTS = [
    {"name": "other"}, {"name": "../up"}, {"name": "latest"}, {"name": "/tmp"}, {"name": 3},  # noqa: S108
    {"name": "demo\n"}, {"name": None}, {"part": "2006-03-01"}, {"part": "../.."}, {"part": 3},
    {"release": "demo-000000000000"}, {"release": "../demo"}, {"release": None}, {"sha256": []},
    {"sha256": {}}, {"sha256": None}, {"further": 1}, {"signature": 3}, {"created": []},
    {"id": 3},
]  # fmt: skip


@pytest.mark.parametrize("changed", REQUESTS, ids=str)
def test_false_request_is_not_approved(tmp_path, run, changed):
    release = run()
    edit_request(release.private, changed)
    with pytest.raises(SetanonError):
        decide(release.private, YES)
    assert folder_state(tmp_path / "out" / "releases") == {}
    assert {path.name for path in tmp_path.iterdir()} == {"in9", "out"}


def test_request_for_a_release_of_another_name_is_not_approved(tmp_path, run):
    """The private folder of one release, renamed to the name of another."""
    release = run()
    moved = release.private.with_name("demo-" + "0" * 12)
    release.private.rename(moved)
    edit_request(moved, {"release": moved.name})
    with pytest.raises(SetanonError, match="the name and the threads differ"):
        decide(moved, YES)
    assert folder_state(tmp_path / "out" / "releases") == {}


def test_paths_that_are_not_the_folder_of_a_release_are_refused(tmp_path, run):
    release = run()
    elsewhere = tmp_path / "elsewhere" / "private"
    elsewhere.mkdir(parents=True)
    (elsewhere / release.name).symlink_to(release.private)
    for path in (
        elsewhere / release.name,
        release.private / "..",
        release.private / "waiting" / "..",
        release.private.parent,
        release.private / "waiting",
        tmp_path,
    ):
        with pytest.raises(SetanonError, match="must be the private folder of a release"):
            decide(path, YES)
    assert folder_state(tmp_path / "out" / "releases") == {}
    assert not (tmp_path / "elsewhere" / "releases").exists()


LINKS = ["/", "..", "../..", "../../private", "absent", "latest", ".temporary-0123456789abcdef"]


@pytest.mark.parametrize("target", LINKS)
def test_false_latest_is_replaced_and_its_target_is_untouched(tmp_path, run, target):
    first = run(threads=10, approval="none")
    link = tmp_path / "out" / "releases" / "demo" / "latest"
    link.unlink()
    link.symlink_to(target)
    release = run()
    private = folder_state(tmp_path / "out" / "private" / first.name)
    decide(release.private, YES)
    assert latest_name(tmp_path / "out") == release.name
    assert folder_state(tmp_path / "out" / "private" / first.name) == private


@pytest.mark.parametrize("place", ["demo", "demo/latest"])
def test_folder_in_the_place_of_latest_or_a_link_as_series_is_refused(tmp_path, run, place):
    release = run()
    path = tmp_path / "out" / "releases" / place
    (tmp_path / "elsewhere").mkdir()
    if place == "demo":
        path.symlink_to(tmp_path / "elsewhere")
    else:
        path.mkdir(parents=True)
    with pytest.raises(SetanonError, match="Move it"):
        decide(release.private, YES)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (release.private / "waiting").is_dir()


@pytest.mark.parametrize("make", ["link", "file", "empty folder", "other release"])
def test_anything_else_in_the_place_of_the_release_is_refused(run, make):
    release, other = run(), run(threads=10, approval="none")
    target = other.folder.with_name(release.name)
    if make == "link":
        target.symlink_to(other.name)
    elif make == "file":
        target.write_text("foreign")
    elif make == "empty folder":
        target.mkdir()
    else:
        other.folder.rename(target)
    with pytest.raises(SetanonError, match=r"has others\. Move it away"):
        decide(release.private, YES)
    assert not (release.private / "approval.json").exists()


def at_once(*calls):
    """Run functions in threads at the same time; return their results or errors."""
    barrier, results = threading.Barrier(len(calls)), [None] * len(calls)

    def work(number, function):
        barrier.wait()
        try:
            results[number] = function()
        except SetanonError as error:
            results[number] = error

    threads = [threading.Thread(target=work, args=each) for each in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_two_approvals_at_once_one_publishes(tmp_path, run):
    release = run()
    first, second = (Decision(by=name) for name in ("Ada", "Bob"))
    results = at_once(
        lambda: decide(release.private, first), lambda: decide(release.private, second)
    )
    errors = [each for each in results if isinstance(each, SetanonError)]
    [decided] = [each for each in results if not isinstance(each, SetanonError)]
    assert "it is published already" in str(errors[0])
    winner = ("Ada", "Bob")[results.index(decided)]
    assert json.loads((release.private / "approval.json").read_text())["by"] == winner
    assert verify_folder(decided.folder, private=release.private).failures == []
    assert latest_name(tmp_path / "out") == release.name


def test_of_an_approval_and_a_rejection_at_once_one_counts(tmp_path, run):
    release = run()
    approved, rejected = at_once(
        lambda: decide(release.private, YES), lambda: decide(release.private, NO)
    )
    record = json.loads((release.private / "approval.json").read_text())
    is_public = (tmp_path / "out" / "releases" / "demo" / release.name).exists()
    if isinstance(approved, SetanonError):
        assert "it was rejected on" in str(approved)
        assert (record["decision"], is_public) == ("rejected", False)
    else:
        assert isinstance(rejected, SetanonError)
        assert (record["decision"], is_public) == ("approved", True)
    assert "earlier" not in record


def test_run_without_approval_waits_for_a_decision_that_is_made(tmp_path, run):
    release = run()
    rejected, published = at_once(lambda: decide(release.private, NO), lambda: run(approval="none"))
    assert rejected.folder is None
    assert isinstance(published, SetanonError)
    assert not (tmp_path / "out" / "releases" / "demo").exists()


def test_two_runs_at_once_make_one_request(tmp_path, run):
    run(out="writes the stages")
    run(threads=10, approval="none")
    first, second = at_once(run, run)
    assert first == second
    assert first.state == "waiting"
    assert decide(first.private, YES).folder is not None
    leftovers = [path for path in (tmp_path / "out").rglob(".*") if path.name != ".unpublished"]
    assert leftovers == []


def test_latest_is_not_moved_back_by_a_run_that_found_nothing_to_decide(tmp_path, run, monkeypatch):
    """While a run finds that its release is the latest already, another one is approved."""
    first = run()
    decide(first.private, YES)
    second = run(threads=10)
    other = threading.Thread(target=lambda: decide(second.private, YES))

    def approve_other():
        other.start()
        other.join(2)  # it waits for the run

    attack_at(monkeypatch, (gate, "publish_folder", "before"), approve_other)
    assert run().state == "published"
    other.join()
    assert latest_name(tmp_path / "out") == second.name


def test_published_files_are_on_disk_before_they_get_their_name(run, monkeypatch):
    release = run()
    synced, published = set(), []
    fsync, rename = os.fsync, os.rename

    def record_fsync(handle):
        status = os.fstat(handle)
        synced.add((status.st_dev, status.st_ino))
        return fsync(handle)

    def record_rename(source, target, *args, **kwargs):
        if Path(target).name == release.name:
            files = [path.stat() for path in (Path(source), *Path(source).iterdir())]
            published.append({(each.st_dev, each.st_ino) for each in files} <= synced)
        return rename(source, target, *args, **kwargs)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "rename", record_rename)
    decide(release.private, YES, signing_key=signer())
    assert published == [True]


@pytest.mark.slow
def test_killed_overruling_is_never_public_without_its_record_and_can_be_finished(
    tmp_path, run, monkeypatch
):
    release = run()
    decide(release.private, NO)
    codes = killed_approvals(tmp_path, 3)
    assert len(codes) > 10
    states = set()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1773187200")  # it is finished on the next day
    for n, code in codes.items():
        out = tmp_path / "outs" / str(n)
        private, folder = out / "private" / release.name, out / "releases" / "demo" / release.name
        record = json.loads((private / "approval.json").read_text())
        before = folder_state(folder) if folder.exists() else {}
        states.add((record["decision"], bool(before)))
        if before:
            assert verify_folder(folder, private=private, keys=public_keys()).failures == []
        if code and (private / "waiting").exists():
            decide(private, Decision(by="Ada", overrule=True), signing_key=signer())
        assert folder_state(folder) == before or not before
        assert verify_folder(folder, private=private, keys=public_keys()).failures == []
        assert latest_name(out) == release.name
    assert states == {("rejected", False), ("approved", False), ("approved", True)}
