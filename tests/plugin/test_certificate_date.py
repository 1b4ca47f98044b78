"""Certificates have the date of publication and the rejected lines, and stay reproducible."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.certificates import SCHEMA
from support.publishing import folder_state, publish_files, stage_files

from setanon_core.errors import InvalidParameterError
from setanon_dagster.gate import certificate, decisions, waiting
from setanon_dagster.gate import publish as gate
from setanon_dagster.gate.approval import decide
from setanon_dagster.gate.certificate import (
    OTHER,
    certificate_text,
    publication_date,
    setanon_version,
)
from setanon_dagster.gate.datasheet import datasheet
from setanon_dagster.gate.decisions import Decision
from setanon_dagster.sources.loading import REASONS
from setanon_dagster.verifier.release_folder import verify_folder

MONDAY, TUESDAY = "1773100800", "1773187200"


@pytest.fixture
def published_on(tmp_path, monkeypatch):
    """A function that publishes the small release on a day, given in seconds since 1970."""
    paths = stage_files(tmp_path / "in")

    def publish(seconds, out="out", **rejected):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
        if rejected:
            parquet.write_table(pa.table(rejected), paths["rejected_rows"])
        return publish_files(paths, tmp_path / out)

    return publish


def certificate_of(release):
    return json.loads((release.folder / "certificate.json").read_text())


def verdict_of(release):
    return verify_folder(
        release.folder, private=release.private, data_sheet=datasheet, version=setanon_version()
    )


def test_date_changes_the_certificate_and_the_sheet_only(published_on):
    first, second = published_on(MONDAY, "a"), published_on(TUESDAY, "b")
    assert certificate_of(first)["published"] == "2026-03-10"
    assert "Published on 2026-03-11.\n" in (second.folder / "DATASHEET.md").read_text()
    assert first.name == second.name
    first_files, second_files = folder_state(first.folder), folder_state(second.folder)
    assert {name for name in first_files if first_files[name] != second_files[name]} == {
        "certificate.json",
        "DATASHEET.md",
    }


def test_equal_dates_give_equal_bytes(published_on):
    first, second = published_on(MONDAY, "a"), published_on(MONDAY, "b")
    assert folder_state(first.folder) == folder_state(second.folder)
    assert folder_state(first.private) == folder_state(second.private)


def test_release_that_is_published_again_keeps_its_first_certificates(published_on):
    first = published_on(MONDAY)
    before = folder_state(first.folder), (first.private / "certificate.json").read_bytes()
    again = published_on(TUESDAY, line=list(range(500)), reason=["quote"] * 500)
    assert (folder_state(again.folder), (again.private / "certificate.json").read_bytes()) == before
    assert verdict_of(again).failures == []


class Clock(datetime):
    """A clock that stands a second before midnight in UTC, and moves on by two with each look."""

    looks = 0

    @classmethod
    def now(cls, tz=None):
        cls.looks += 1
        start = datetime(2026, 3, 9, 23, 59, 57, tzinfo=UTC)
        return (start + timedelta(seconds=2 * cls.looks)).astimezone(tz)


@pytest.fixture
def _midnight(monkeypatch):
    monkeypatch.setattr(Clock, "looks", 0)
    for module in (certificate, decisions, waiting):
        monkeypatch.setattr(module, "datetime", Clock)


@pytest.fixture(params=["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def _time_zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def dates_of(release, folder):
    """The dates of the public and of the private certificate, and whether the sheet has it."""
    public, private = (
        json.loads((each / "certificate.json").read_text())["published"]
        for each in (folder, release.private)
    )
    return public, private, f"Published on {public}" in (folder / "DATASHEET.md").read_text()


@pytest.mark.usefixtures("_time_zone", "_midnight")
@pytest.mark.parametrize("approval", ["none", "required"])
def test_one_publication_has_one_date_across_midnight_and_time_zones(tmp_path, approval):
    release = publish_files(stage_files(tmp_path / "in"), tmp_path / "out", approval=approval)
    folder = release.folder
    if approval == "required":
        folder = decide(release.private, Decision(by="Ada")).folder
        record = json.loads((release.private / "approval.json").read_text())
        assert record["at"][:10] == record["published"]
    public, private, in_sheet = dates_of(release, folder)
    assert public == private
    assert in_sheet
    assert public == ("2026-03-09" if approval == "none" else "2026-03-10")
    verdict = verify_folder(
        folder, private=release.private, data_sheet=datasheet, version=setanon_version()
    )
    assert verdict.failures == []


@pytest.mark.parametrize("seconds", [MONDAY, TUESDAY])
def test_approval_has_the_date_of_source_date_epoch(tmp_path, monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", MONDAY)
    paths = stage_files(tmp_path / "in")
    release = publish_files(paths, tmp_path / "out", approval="required")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    folder = decide(release.private, Decision(by="Ada")).folder
    day = "2026-03-10" if seconds == MONDAY else "2026-03-11"
    assert dates_of(release, folder) == (day, day, True)


@pytest.mark.parametrize("step", ["check_existing", "store_private_files"])
def test_two_publications_at_once_have_the_date_of_the_first(
    tmp_path, monkeypatch, published_on, step
):
    """The second one begins on the next day, while the first one is at this step."""
    original, started = getattr(gate, step), []

    def start_second(*args, **kwargs):
        if not started:
            monkeypatch.setenv("SOURCE_DATE_EPOCH", TUESDAY)
            second = threading.Thread(
                target=publish_files, args=(stage_files(tmp_path / "same"), tmp_path / "out")
            )
            started.append(second)
            second.start()
            second.join(1.5)
        return original(*args, **kwargs)

    monkeypatch.setattr(gate, step, start_second)
    release = published_on(MONDAY)
    started[0].join()
    assert dates_of(release, release.folder) == ("2026-03-10", "2026-03-10", True)
    assert verdict_of(release).failures == []


def test_lost_private_certificate_is_restored_with_the_date_of_the_public_one(published_on):
    release = published_on(MONDAY)
    before = folder_state(release.private)
    (release.private / "certificate.json").unlink()
    published_on(TUESDAY)
    assert folder_state(release.private) == before


@pytest.mark.parametrize("side", ["folder", "private"])
def test_certificates_of_different_dates_are_refused(published_on, side):
    """One of them was changed after publication; nobody knows which."""
    release = published_on(MONDAY)
    path = getattr(release, side) / "certificate.json"
    path.write_text(path.read_text().replace("2026-03-10", "2026-03-09"))
    before = folder_state(release.folder), folder_state(release.private)
    with pytest.raises(InvalidParameterError, match="must have its files unchanged"):
        published_on(TUESDAY)
    assert (folder_state(release.folder), folder_state(release.private)) == before


@pytest.mark.parametrize("seconds", ["today", "1e9", "9" * 30])
def test_wrong_source_date_epoch_is_refused(monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(InvalidParameterError, match="must be seconds since 1970"):
        publication_date()


def test_rejected_lines_are_rounded_by_reason_and_unknown_reasons_are_not_named(published_on):
    reasons = ["quote"] * 150 + ["columns"] * 3 + ["canaryreason"] * 120
    release = published_on(MONDAY, line=list(range(len(reasons))), reason=reasons)
    expected = {"lines": 300, "reasons": dict.fromkeys(REASONS, 100) | {"quote": 200, OTHER: 200}}
    assert certificate_of(release)["rejected"] == expected
    exact = json.loads((release.private / "certificate.json").read_text())["rejected"]
    assert (exact["lines"], exact["reasons"]["columns"], exact["reasons"][OTHER]) == (273, 3, 120)
    sheet = (release.folder / "DATASHEET.md").read_text()
    assert "| lines of the source that could not be used | fewer than 300 |" in sheet
    assert "| lines that could not be used: quote | fewer than 200 |" in sheet
    assert "columns |" not in sheet
    assert "canary" not in sheet + json.dumps([exact, expected])
    assert verdict_of(release).failures == []


def test_few_rejected_lines_and_none_have_one_certificate(published_on):
    some = published_on(MONDAY, "a", line=[1, 2], reason=["quote", "columns"])
    none = published_on(MONDAY, "b", line=pa.array([], "int64"), reason=pa.array([], "string"))
    assert folder_state(some.folder) == folder_state(none.folder)


def test_schema_has_the_reasons_of_the_source():
    rejected = json.loads(SCHEMA.read_text())["properties"]["rejected"]["properties"]
    assert list(rejected["reasons"]["properties"]) == [*REASONS, OTHER]


def as_schema_2(certificate):
    """The certificate as an earlier version wrote it."""
    kept = {k: v for k, v in certificate.items() if k not in {"published", "approval", "rejected"}}
    threads = {"threads.parquet": certificate["sha256"]["threads.parquet"]}
    return kept | {"schema": 2, "sha256": threads}


def test_certificates_of_schema_2_are_verified_and_kept(published_on):
    release = published_on(MONDAY)
    for folder in (release.folder, release.private):
        path = folder / "certificate.json"
        old = as_schema_2(json.loads(path.read_text()))
        path.write_text(certificate_text(old))
        if folder == release.folder:
            (folder / "DATASHEET.md").write_text(datasheet("demo", old))
    before = folder_state(release.folder)
    assert verdict_of(release).failures == []
    again = published_on(TUESDAY)
    assert folder_state(again.folder) == before
    assert verdict_of(again).failures == []


CHANGES = {
    "must match its schema": {"published": "yesterday"},
    "must be a day of the calendar": {"published": "2026-02-30"},
    "1 fields do not: certificate.approval": {"approval": "perhaps"},
    "certificate.sha256": {"sha256": {"threads.parquet": "0" * 64}},
    "1 fields do not": {"approved_by": "ann"},
}


@pytest.mark.parametrize("message", CHANGES)
def test_certificate_with_wrong_new_fields_is_refused(published_on, message):
    release = published_on(MONDAY)
    path = release.folder / "certificate.json"
    path.write_text(certificate_text(certificate_of(release) | CHANGES[message]))
    with pytest.raises(ValueError, match=message):
        verify_folder(release.folder)


def test_rejected_lines_that_contradict_each_other_are_refused(published_on):
    release = published_on(MONDAY)
    changed = certificate_of(release)
    path = release.folder / "certificate.json"
    changed["rejected"]["reasons"]["quote"] = 12_300
    path.write_text(certificate_text(changed))
    failures = "; ".join(verify_folder(release.folder).failures)
    assert "counts of the source must be rounded; 1 are not" in failures
    assert "rejected lines must be at least those of each reason; 1 are fewer" in failures


def test_changed_data_sheet_is_refused_whatever_the_version(published_on):
    release = published_on(MONDAY)
    path = release.folder / "DATASHEET.md"
    assert certificate_of(release)["sha256"][path.name] == sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text() + "It is harmless.\n")
    verdict = verify_folder(release.folder, data_sheet=datasheet, version="another")
    assert "DATASHEET.md must have the digest of its certificate; the digests differ" in (
        verdict.failures
    )
