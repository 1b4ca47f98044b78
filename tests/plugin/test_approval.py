"""Approval: a verified release waits in the private folder until it is approved."""

import json
import shutil
from hashlib import sha256

import pytest
from support.killed_approvals import killed_approvals
from support.publishing import K, folder_state, latest_name, publish_files, stage_files
from support.terminal import call

from setanon_core.errors import InvalidParameterError, NotAnonymousError
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.certificate import setanon_version
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.decisions import Decision
from setanon_dagster.storage.temporary import remove_all_leftovers
from setanon_dagster.verifier.release_folder import verify_folder

YES = Decision(by="Canaryname", note="canarynote", policy="canarypolicy 4")
NO = Decision(by="Canaryname", approved=False)


@pytest.fixture
def request_release(tmp_path):
    """A function that runs a release with approval in `tmp_path / "out"`."""

    def run(threads=9, **changed):
        paths = stage_files(tmp_path / f"in{threads}", threads=threads)
        return publish_files(paths, tmp_path / "out", **{"approval": "required"} | changed)

    return run


def public(out):
    return folder_state(out / "releases")


def verified(folder, private):
    version = setanon_version()
    return verify_folder(folder, private=private, data_sheet=datasheet, version=version).ok


def test_waiting_release_is_verified_and_not_public(tmp_path, request_release):
    release = request_release()
    assert (release.state, release.verdict.smallest_group) == ("waiting", K)
    assert release.sentence.endswith(
        f"waits for approval: setanon approve {release.private} --by NAME"
    )
    assert public(tmp_path / "out") == {}
    private = tmp_path / "out" / "private"
    assert release.private.parent == private
    assert all(not path.stat().st_mode & 0o077 for path in private.rglob("*"))
    before = folder_state(private)
    remove_all_leftovers(tmp_path / "out")
    assert folder_state(private) == before


def test_approved_release_is_published_and_only_its_date_is_public(tmp_path, request_release):
    release = request_release()
    decided = decide(release.private, YES)
    assert latest_name(tmp_path / "out") == decided.release == release.name
    assert verified(decided.folder, release.private)
    certificate = json.loads((decided.folder / "certificate.json").read_text())
    decision = json.loads((release.private / "approval.json").read_text())
    assert certificate["approval"] == "required"
    assert certificate["published"] == decision["at"][:10]
    assert (decision["by"], decision["note"], decision["policy"]) == (YES.by, YES.note, YES.policy)
    assert decision["sha256"]["threads.parquet"] == release.digest
    assert (release.private / "approval.json").stat().st_mode & 0o077 == 0
    text = b"".join(path.read_bytes() for path in decided.folder.iterdir()).lower()
    assert b"after a person approved it" in text
    assert not [each for each in (b"canaryname", b"canarynote", b"canarypolicy") if each in text]
    assert not (release.private / "waiting").exists()


def test_approving_twice_is_refused_and_changes_nothing(tmp_path, request_release):
    release = request_release()
    decide(release.private, YES)
    before = folder_state(tmp_path / "out")
    for decision in (YES, NO):
        with pytest.raises(InvalidParameterError, match=r"must wait .* it is published already"):
            decide(release.private, decision)
    assert folder_state(tmp_path / "out") == before


def test_rejected_release_is_not_published_and_stays_rejected(tmp_path, request_release):
    release = request_release()
    assert decide(release.private, NO).folder is None
    with pytest.raises(InvalidParameterError, match=r"it was rejected on \d{4}-"):
        decide(release.private, YES)
    again = request_release()
    assert again.state == "rejected"
    assert "was rejected; nothing was published" in again.sentence
    assert public(tmp_path / "out") == {}


def test_rejected_release_can_be_decided_again_after_its_folder_was_moved(
    tmp_path, request_release
):
    release = request_release()
    decide(release.private, NO)
    release.private.rename(tmp_path / "rejected")
    assert request_release().state == "waiting"
    assert decide(release.private, YES).folder is not None


CHANGES = {
    "threads.parquet": "waiting/threads.parquet",
    "certificate.json": "waiting/certificate.json",
    "DATASHEET.md": "waiting/DATASHEET.md",
    "exact_certificate.json": "waiting/exact_certificate.json",
    "ledger.parquet": "ledger.parquet",
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_staged_file_is_refused(tmp_path, request_release, name):
    release = request_release()
    path = release.private / CHANGES[name]
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(NotAnonymousError, match=f"; {name} differ. Nothing was published"):
        decide(release.private, YES)
    assert public(tmp_path / "out") == {}
    # Running it again replaces what was changed.
    assert request_release().state == "waiting"
    assert decide(release.private, YES).folder is not None


def forge(release, name, data):
    """Replace a staged file, and its digest in the request."""
    path = release.private / CHANGES[name]
    before, request = path.read_bytes(), release.private / "waiting" / "request.json"
    path.write_bytes(data)
    old, new = (sha256(each).hexdigest() for each in (before, data))
    request.write_text(request.read_text().replace(old, new))


def test_files_are_verified_again_even_if_their_digests_match(tmp_path, request_release):
    release, other = request_release(), request_release(threads=10)
    forge(release, "ledger.parquet", (other.private / "ledger.parquet").read_bytes())
    with pytest.raises(NotAnonymousError, match="must be verified when it is approved"):
        decide(release.private, YES)
    forge(other, "threads.parquet", (release.private / CHANGES["threads.parquet"]).read_bytes())
    with pytest.raises(NotAnonymousError, match="the name and the threads differ"):
        decide(other.private, YES)
    assert public(tmp_path / "out") == {}


def test_files_of_another_release_are_not_approved(tmp_path, request_release):
    release, other = request_release(), request_release(threads=10)
    shutil.rmtree(release.private / "waiting")
    shutil.copytree(other.private / "waiting", release.private / "waiting")
    with pytest.raises(NotAnonymousError, match="verified and reported"):
        decide(release.private, YES)
    assert public(tmp_path / "out") == {}


def test_running_again_while_a_release_waits_keeps_it(tmp_path, request_release):
    release = request_release()
    before = folder_state(tmp_path / "out")
    request = (release.private / "waiting" / "request.json").stat().st_ino
    assert request_release() == release
    assert folder_state(tmp_path / "out") == before
    assert (release.private / "waiting" / "request.json").stat().st_ino == request


def test_several_releases_wait_side_by_side(tmp_path, request_release):
    first, second = request_release(), request_release(threads=10)
    decide(second.private, YES)
    assert latest_name(tmp_path / "out") == second.name
    decide(first.private, YES)
    assert latest_name(tmp_path / "out") == first.name


def test_published_release_waits_again_only_to_become_the_latest(tmp_path, request_release):
    first = request_release()
    decide(first.private, YES)
    assert request_release().state == "published"
    decide(request_release(threads=10).private, YES)
    before = folder_state(first.private), folder_state(tmp_path / "out" / "releases" / "demo")
    assert request_release().state == "waiting"
    assert decide(first.private, YES).release == latest_name(tmp_path / "out") == first.name
    after = folder_state(tmp_path / "out" / "releases" / "demo")
    assert {name for name in after if after[name] != before[1][name]} == {"latest"}
    assert verified(tmp_path / "out" / "releases" / "demo" / first.name, first.private)


def test_older_part_waits_too_and_does_not_become_the_latest(tmp_path, request_release):
    newer = request_release(part="2006-03-02")
    decide(newer.private, YES)
    older = request_release(threads=10, part="2006-03-01")
    assert older.state == "waiting"
    assert not (tmp_path / "out" / "releases" / "demo" / older.name).exists()
    assert decide(older.private, YES).folder.is_dir()
    assert latest_name(tmp_path / "out") == newer.name


def test_earlier_release_stays_the_latest_while_another_waits(tmp_path, request_release):
    first = request_release(approval="none")
    before = public(tmp_path / "out")
    assert request_release(threads=10).state == "waiting"
    assert public(tmp_path / "out") == before
    assert latest_name(tmp_path / "out") == first.name


def test_command_approves_and_rejects(tmp_path, request_release):
    first, second = request_release(), request_release(threads=10)
    result = call("approve", first.private, "--by", "Ada", "--reject", "--note", "too small")
    assert (result.exit_code, result.stdout) == (
        0,
        f"{first.name} is rejected; nothing was published.\n",
    )
    report = second.private / "report.html"
    report.write_text("<!-- decision -->to be signed<!-- /decision -->")
    result = call("approve", second.private, "--by", "Ada")
    assert result.exit_code == 0
    assert "Ada" in report.read_text()
    assert "to be signed" not in report.read_text()
    assert f"{second.name} is approved and published." in result.stdout
    assert call("approve", second.private, "--by", "Ada").exit_code == 2
    assert call("approve", second.private, "--by", " ").exit_code == 2
    assert call("approve", tmp_path / "out" / "releases" / "demo", "--by", "Ada").exit_code == 2


@pytest.mark.slow
def test_killed_approval_leaves_the_old_or_the_new_release_and_can_be_finished(
    tmp_path, request_release
):
    first = request_release(approval="none")
    waiting = request_release(threads=10)
    codes = killed_approvals(tmp_path, 4)
    assert len(codes) > 8
    seen = set()
    for n, code in codes.items():
        out = tmp_path / "outs" / str(n)
        latest = latest_name(out)
        seen.add(latest)
        private = out / "private"
        assert verified(out / "releases" / "demo" / latest, private / latest)
        if (out / "releases" / "demo" / waiting.name).exists():
            assert verified(out / "releases" / "demo" / waiting.name, private / waiting.name)
            assert (private / waiting.name / "approval.json").is_file()
        if code and (private / waiting.name / "waiting").exists():
            decide(private / waiting.name, YES)
        assert latest_name(out) == waiting.name
        assert verified(out / "releases" / "demo" / waiting.name, private / waiting.name)
        remove_all_leftovers(out)
        assert not list(out.rglob(".temporary-*"))
    assert seen == {first.name, waiting.name}
