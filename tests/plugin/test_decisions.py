"""Threads that were rejected, or wait, are not published unless somebody approves them."""

import json
import shutil
from datetime import datetime

import pytest
from support.publishing import folder_state, latest_name, publish_files, stage_files
from support.terminal import call

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.decisions import Decision
from setanon_dagster.gate.series import Series

YES = Decision(by="Ada", note="checked")
NO = Decision(by="Bob", approved=False, note="wrong month")
OVERRULE = Decision(by="Ada", overrule=True)


class StoppedClock(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 3, 1, tzinfo=tz)


@pytest.fixture
def run(tmp_path):
    """A function that runs a release in `tmp_path / "out"`; without approval by default."""

    def run(threads=9, **changed):
        paths = stage_files(tmp_path / f"in{threads}", threads=threads)
        return publish_files(paths, tmp_path / "out", **changed)

    return run


@pytest.fixture
def waiting(run):
    return run(approval="required")


@pytest.fixture
def rejected(waiting):
    decide(waiting.private, NO)
    return waiting


def public(out):
    return folder_state(out / "releases")


def record_of(release):
    return json.loads((release.private / "approval.json").read_text())


def refused(run, out, seen, **changed):
    """Assert that a run without approval is refused with these words, and changes nothing."""
    before = folder_state(out)
    with pytest.raises(InvalidParameterError, match=seen) as caught:
        run(**changed)
    assert folder_state(out) == before
    return str(caught.value)


def test_rejected_release_is_not_published_by_a_run_without_approval(tmp_path, run, rejected):
    message = refused(run, tmp_path / "out", r"it was rejected on \d{4}-\d\d-\d\d\. Nothing was")
    assert message.endswith(f"setanon approve {rejected.private} --by NAME --overrule")


def test_waiting_release_is_not_published_by_a_run_without_approval(tmp_path, run, waiting):
    message = refused(run, tmp_path / "out", "it waits for approval. Nothing was published")
    assert message.endswith(f"Decide: setanon approve {waiting.private} --by NAME")
    decide(waiting.private, YES)
    before = folder_state(tmp_path / "out")
    assert run().state == "published"
    assert folder_state(tmp_path / "out") == before


@pytest.mark.parametrize("other", [{"name": "other"}, {"part": "2006-03-01"}])
@pytest.mark.usefixtures("rejected")
def test_rejected_threads_are_not_published_under_another_name(tmp_path, run, other):
    refused(run, tmp_path / "out", "it was rejected on", **other)


@pytest.mark.parametrize("other", [{"name": "other"}, {"part": "2006-03-01"}])
@pytest.mark.usefixtures("waiting")
def test_threads_that_wait_are_not_published_under_another_name(tmp_path, run, other):
    refused(run, tmp_path / "out", "it waits for approval", **other)


def test_threads_without_a_decision_are_published_under_two_names(tmp_path, run):
    assert run().digest == run(name="other").digest
    assert {path.name for path in (tmp_path / "out" / "releases").iterdir()} == {"demo", "other"}


@pytest.mark.usefixtures("rejected")
def test_other_threads_are_published_beside_a_rejected_release(tmp_path, run):
    assert run(threads=10).state == "published"
    assert latest_name(tmp_path / "out") == run(threads=10).name


def test_rejection_is_overruled_explicitly_and_stays_in_the_record(tmp_path, run, rejected):
    with pytest.raises(InvalidParameterError, match=r"was rejected on .* pass --overrule"):
        decide(rejected.private, YES)
    assert public(tmp_path / "out") == {}
    assert decide(rejected.private, OVERRULE).folder is not None
    record = record_of(rejected)
    [earlier] = record["earlier"]
    assert (record["decision"], record["by"]) == ("approved", "Ada")
    assert (earlier["decision"], earlier["by"], earlier["note"]) == ("rejected", "Bob", NO.note)
    before = folder_state(tmp_path / "out")
    assert run().state == "published"
    assert folder_state(tmp_path / "out") == before


def test_command_overrules(tmp_path, rejected):
    arguments = ("approve", rejected.private, "--by", "Ada")
    result = call(*arguments)
    assert result.exit_code == 2
    assert "pass --overrule" in result.stderr
    result = call(*arguments, "--overrule", "--reject")
    assert result.exit_code == 2
    assert "--overrule must be set for an approval only" in result.stderr
    assert call(*arguments, "--overrule").exit_code == 0
    assert latest_name(tmp_path / "out") == rejected.name


def test_release_is_rejected_once(rejected):
    before = folder_state(rejected.private)
    with pytest.raises(InvalidParameterError, match="it was rejected on"):
        decide(rejected.private, NO)
    assert folder_state(rejected.private) == before


def test_overruling_needs_no_rejection(waiting):
    assert decide(waiting.private, OVERRULE).folder is not None
    assert "earlier" not in record_of(waiting)


def remove_waiting(private):
    shutil.rmtree(private / "waiting")


def change_waiting(private):
    (private / "waiting" / "DATASHEET.md").write_text("other")


def change_request(private):
    path = private / "waiting" / "request.json"
    path.write_text(path.read_text() + "\n")


@pytest.mark.parametrize("change", [remove_waiting, change_waiting, change_request])
def test_rejection_stays_when_its_request_is_changed_or_removed(tmp_path, run, rejected, change):
    change(rejected.private)
    refused(run, tmp_path / "out", "it was rejected on")
    again = run(approval="required")
    assert again.state == "rejected"
    assert again.sentence.endswith(f"setanon approve {rejected.private} --by NAME --overrule")
    with pytest.raises(InvalidParameterError, match="it was rejected on"):
        decide(rejected.private, YES)
    assert public(tmp_path / "out") == {}
    assert decide(rejected.private, OVERRULE).folder is not None


DAMAGED = [b"", b"{", b"[]", b"null", b'{"decision": "perhaps"}', b'{"decision": "approved"}',
           b'{"decision": {}, "at": "", "request": ""}', b"[" * 99_999]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_decision_that_cannot_be_read_forbids(tmp_path, run, rejected, text):
    (rejected.private / "approval.json").write_bytes(text)
    for attempt in (run, lambda: run(approval="required"), lambda: decide(rejected.private, YES)):
        with pytest.raises(MalformedInputError, match="restore the file"):
            attempt()
    assert public(tmp_path / "out") == {}
    assert (rejected.private / "approval.json").read_bytes() == text


def test_release_that_may_not_become_the_latest_again_is_not_moved(tmp_path, run, monkeypatch):
    """It waits again with equal files, and even at the same second needs a new decision."""
    monkeypatch.setattr("setanon_dagster.gate.waiting.datetime", StoppedClock)
    first = run(approval="required")
    decide(first.private, YES)
    second = run(threads=10)
    assert run(approval="required").state == "waiting"
    refused(run, tmp_path / "out", "it waits for approval")
    decide(first.private, NO)
    refused(run, tmp_path / "out", "it was rejected")
    assert latest_name(tmp_path / "out") == second.name
    record = record_of(first)
    assert record["decision"] == "rejected"
    assert [each["decision"] for each in record["earlier"]] == ["approved"]
    decide(first.private, OVERRULE)
    decisions = [each["decision"] for each in record_of(first)["earlier"]]
    assert (decisions, latest_name(tmp_path / "out")) == (["approved", "rejected"], first.name)


def test_run_that_changes_nothing_is_not_refused(tmp_path, run):
    published = run()
    decide(run(name="other", approval="required").private, NO)
    before = folder_state(tmp_path / "out")
    assert run() == published
    assert folder_state(tmp_path / "out") == before


def test_request_whose_replacement_was_interrupted_still_waits(tmp_path, run, waiting, monkeypatch):
    change_waiting(waiting.private)
    rename = type(tmp_path).rename

    def stop_at_waiting(path, target):
        if target == waiting.private / "waiting":
            raise InterruptedError
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "rename", stop_at_waiting)
        with pytest.raises(InterruptedError):
            run(approval="required")
    assert not (waiting.private / "waiting").exists()
    refused(run, tmp_path / "out", "it waits for approval")
    with pytest.raises(InvalidParameterError, match="must wait for approval; it does not"):
        decide(waiting.private, YES)
    assert run(approval="required").state == "waiting"
    assert not (waiting.private / "waiting.replaced").exists()
    assert decide(waiting.private, YES).folder is not None
    assert run().state == "published"


def test_interrupted_overruling_is_finished_by_the_same_or_a_plain_approval(
    tmp_path, rejected, monkeypatch
):
    def stop(*_):
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(Series, "switch_latest", stop)
        with pytest.raises(InterruptedError):
            decide(rejected.private, OVERRULE)
    record = record_of(rejected)
    with pytest.raises(InvalidParameterError, match="it was approved on"):
        decide(rejected.private, NO)
    decide(rejected.private, YES)
    assert record_of(rejected) == record
    assert latest_name(tmp_path / "out") == rejected.name


@pytest.mark.parametrize("by", ["", " ", "\u200b", "\n\t", "--"])
def test_somebody_must_decide(by):
    with pytest.raises(InvalidParameterError, match="by must be the name of who decides"):
        Decision(by=by)


def test_texts_of_a_decision_must_be_text():
    for texts in ({"by": "a\udcff"}, {"note": "\udcff"}, {"policy": "\udcff"}):
        with pytest.raises(InvalidParameterError, match="must be text"):
            Decision(**{"by": "Ada"} | texts)
    assert Decision(by="Åsa O'Brien", note="ok\nfine ☃").by == "Åsa O'Brien"


def test_request_is_not_removed_as_a_leftover_of_a_killed_publication(tmp_path, run, monkeypatch):
    """A process was killed after it had stored the private files; the next run waits."""

    def kill(*_):
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr("setanon_dagster.gate.publish.publish_folder", kill)
        with pytest.raises(InterruptedError):
            run()
    [private] = (tmp_path / "out" / "private").glob("demo-*")
    assert (private / ".unpublished").exists()
    with monkeypatch.context() as patch:  # as if the killed process ended only now
        patch.setattr("setanon_dagster.gate.publish.remove_all_leftovers", lambda _: None)
        waiting = run(approval="required")
    assert run(threads=10).state == "published"  # removes leftovers
    assert decide(waiting.private, YES).folder is not None
