"""The first page of a report: earlier release, decision, and lines that are shown."""

import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from support.reports import CERTIFICATE, SMALL

from setanon_dagster.report import decision_lines as lines
from setanon_dagster.report.build import update_decision, write_report
from setanon_dagster.report.decision import Decision, read_decision
from setanon_dagster.report.earlier_figures import (
    EarlierRelease,
    decision_figures,
    find_earlier,
    write_figures,
)
from setanon_dagster.report.page import page
from setanon_dagster.report.personal_words import PersonalSearch, PersonalWords
from setanon_dagster.report.release_facts import ReleaseFacts, Sharing
from setanon_dagster.report.terms import definitions
from setanon_dagster.sources.source_counts import SourceCounts

pytest.importorskip("jinja2")

FACTS = ReleaseFacts(
    source="data/log.tsv", people=60, rows=500, published_rows=400,
    sharing=(Sharing(3, 12, 24), Sharing(4, 8, 16)),
    first=datetime(2026, 3, 1, 8, tzinfo=UTC), last=datetime(2026, 3, 31, 9, 30, tzinfo=UTC),
    counts=SourceCounts(
        lines=503, accepted=500, outside=0, blank=0, rejected_by_reason={"columns": 3},
        encodings=("utf-8",),
    ),
)  # fmt: skip
DECIDED = {"decision": "approved", "by": "Ann", "at": "2026-04-01T09:00:00+00:00", "policy": "P-7"}


def store(private, name, *, at=0, figures=True, certificate=CERTIFICATE):
    folder = private / name
    folder.mkdir(parents=True)
    (folder / "certificate.json").write_text(json.dumps(certificate))
    os.utime(folder / "certificate.json", (at, at))
    if figures:
        write_figures(decision_figures(certificate, FACTS), folder)
    return folder


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch):
    monkeypatch.setattr("setanon_dagster.report.drawing.can_draw", lambda: False)


def test_lines_of_the_first_page():
    report = replace(SMALL, facts=FACTS)
    assert dict(lines.data_lines(report)) == {
        "Source": "data/log.tsv", "First time": "2026-03-01 08:00 UTC",
        "Last time": "2026-03-31 09:30 UTC", "People": "60", "Queries": "500",
        "Lines set aside": "3 of 503 (columns 3)", "Encoding": "utf-8",
    }  # fmt: skip
    assert dict(lines.risk_lines(report)) == {
        "Worst case": "1 in 3 (33.4%)", "Average over lists": "30.0%",
        "Average over people": "30.0%", "Lists of exactly 3 people": "12 of 20 (60.0%)",
        "People in the release": "40 of 60 (66.7%)",
    }  # fmt: skip
    assert dict(lines.loss_lines(report)) == {
        "Keywords retained": "75.0% of 400", "Threads withdrawn": "10 of 100 (10.0%)",
        "Queries published": "400 of 500 (80.0%)",
    }  # fmt: skip


def test_lines_of_baskets_speak_of_records_and_items():
    facts = replace(FACTS, first=None, last=None)
    certificate = {**CERTIFICATE, "unit": "record", "format": "sets", "published": "2026-04-02"}
    report = replace(SMALL, facts=facts, certificate=certificate)
    shown = dict(lines.data_lines(report)) | dict(lines.risk_lines(report))
    assert shown["Verified on"] == "2026-04-02"
    assert shown["Times"] == "none"
    assert shown["Records"] == "60"
    assert shown["Items"] == "500"
    assert shown["Sets of exactly 3 records"] == "12 of 20 (60.0%)"
    assert [name for name, _ in lines.loss_lines(report)] == ["Items retained", "Records withdrawn"]
    compared = [row[0] for row in lines.comparison_table(report).rows]
    assert {"records in the source", "items of the source", "items retained"} <= set(compared)
    assert dict(definitions(report))["thread"].startswith("one record")
    assert "typed" not in dict(definitions(report)).values()


def test_lists_of_fewer_than_k_people_are_shown_before_those_of_k():
    facts = replace(FACTS, sharing=(Sharing(1, 30, 20), Sharing(3, 12, 24)))
    names = [name for name, _ in lines.risk_lines(replace(SMALL, facts=facts))]
    assert names[3:5] == ["Lists of fewer than 3 people", "Lists of exactly 3 people"]
    assert "Lists of fewer than 3 people" not in dict(lines.risk_lines(replace(SMALL, facts=FACTS)))


def test_chance_is_written_alike_in_both_places():
    facts = replace(FACTS, sharing=(Sharing(3, 12, 24), Sharing(7, 8, 16)))
    report = replace(SMALL, facts=facts)
    rows = {name: cells for name, *cells in lines.comparison_table(report).rows}
    shown = dict(lines.risk_lines(report))["Average over people"]
    assert rows["average chance, over people"] == ["-", shown]


def test_chance_is_rounded_up():
    assert [lines.chance(value) for value in (0.25, 1 / 3, 0.2001)] == ["25.0%", "33.4%", "20.1%"]


def test_earlier_release_is_the_last_written_of_the_same_name(tmp_path):
    new = store(tmp_path, "log-" + "c" * 12, at=1)
    assert find_earlier(new, "log") is None
    store(tmp_path, "log-" + "a" * 12, at=3)
    store(tmp_path, "log-" + "b" * 12, at=2)
    store(tmp_path, "log_two-" + "b" * 12, at=9)
    (tmp_path / "stages").mkdir()
    found = find_earlier(new, "log")
    assert found.name == "log-" + "a" * 12
    assert found.figures["people"] == 60
    assert found.figures["retained"] == 0.75


def test_parts_are_compared_in_their_order(tmp_path):
    folders = [store(tmp_path, f"log-2026-03-0{day}-{'a' * 12}", at=10 - day) for day in (1, 2, 3)]
    assert find_earlier(folders[0], "log") is None
    assert find_earlier(folders[1], "log").name == folders[0].name
    assert find_earlier(folders[2], "log").name == folders[1].name


def test_unpublished_and_unreadable_releases_are_skipped(tmp_path):
    new = store(tmp_path, "log-" + "c" * 12)
    (store(tmp_path, "log-" + "a" * 12) / ".unpublished").touch()
    (store(tmp_path, "log-" + "b" * 12) / "certificate.json").write_text("{")
    (store(tmp_path, "log-" + "d" * 12) / "waiting").mkdir()
    (store(tmp_path, "log-" + "e" * 12) / "waiting.replaced").mkdir()
    assert find_earlier(new, "log") is None


def test_release_of_an_earlier_version_has_the_figures_of_its_certificate(tmp_path):
    new = store(tmp_path, "log-" + "c" * 12)
    store(tmp_path, "log-" + "a" * 12, figures=False)
    report = replace(SMALL, facts=FACTS, earlier=find_earlier(new, "log"))
    rows = {name: cells for name, *cells in lines.comparison_table(report).rows}
    assert rows["people in the source"] == ["-", "60"]
    assert rows["keywords retained"] == ["75.0%", "75.0%"]
    assert "first release of this name" in page(replace(SMALL, facts=FACTS))
    assert "first release of this name" not in page(report)


def test_decision_is_shown_once_it_is_stored(tmp_path):
    path = write_report(SMALL, tmp_path)
    before = path.read_text()
    assert "☐ approved" in before
    (tmp_path / "approval.json").write_text(json.dumps(DECIDED))
    update_decision(tmp_path)
    after = path.read_text()
    assert "☐ approved" not in after
    for text in ("Approved", "Ann", "P-7", "2026-04-01"):
        assert text in after
    assert after == page(replace(SMALL, decision=read_decision(tmp_path)))


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-04-01T09:00:59+02:00", "2026-04-01 07:00 UTC"),
        ("2026-04-01T09:00:00", "2026-04-01T09:00:00"),
        ("on Monday", "on Monday"),
    ],
)
def test_time_of_a_decision_is_shown_in_utc(at, shown):
    assert Decision(approved=True, by="Ann", at=at).when == shown


def test_decision_is_escaped(tmp_path):
    path = write_report(SMALL, tmp_path)
    (tmp_path / "approval.json").write_text(json.dumps({**DECIDED, "by": "<script>\\1"}))
    update_decision(tmp_path)
    assert "&lt;script&gt;\\1" in path.read_text()


def test_decision_about_another_request_is_not_shown(tmp_path):
    (tmp_path / "waiting").mkdir()
    (tmp_path / "waiting" / "request.json").write_text("{}")
    stored = {**DECIDED, "request": "0" * 64}
    (tmp_path / "approval.json").write_text(json.dumps(stored))
    assert read_decision(tmp_path) is None
    approved = True
    stored["request"] = sha256(b"{}").hexdigest()
    (tmp_path / "approval.json").write_text(json.dumps(stored))
    assert read_decision(tmp_path) == Decision(approved, "Ann", DECIDED["at"], "P-7")


@pytest.mark.parametrize("text", ["", "[]", "{}", '"approved"'])
def test_unreadable_decision_is_none(tmp_path, text):
    (tmp_path / "approval.json").write_text(text)
    assert read_decision(tmp_path) is None


def test_missing_report_needs_no_update(tmp_path):
    update_decision(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("search", "sentence"),
    [
        (None, "Not looked for"),
        (PersonalSearch((), None), "baskets have no queries"),
        (PersonalSearch((), 0.0), "no capital letters"),
        (PersonalSearch((), 0.25), "25.0% of the queries have a capital letter"),
    ],
)
def test_limits_of_the_search_are_stated(search, sentence):
    assert sentence in page(replace(SMALL, personal=search))


def test_personal_words_are_listed_and_must_not_be_shared():
    found = PersonalSearch((PersonalWords("name", 1, (("qu<i>msby", 4),)),), 0.5)
    text = page(replace(SMALL, personal=found))
    assert "<bdi>qu&lt;i&gt;msby</bdi> (4)" in text
    assert "never share" in text
    assert "msby" not in repr(replace(SMALL, personal=found))


def test_earlier_release_without_facts_is_compared():
    report = replace(SMALL, earlier=EarlierRelease("log-1", {"k": 2}))
    rows = {name: cells for name, *cells in lines.comparison_table(report).rows}
    assert rows["k"] == ["2", "3"]
