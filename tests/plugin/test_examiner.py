"""The process that examines a release beside the stages finds what this one would find."""

from functools import partial
from multiprocessing import Pipe
from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.trial import K

from setanon_dagster.quality import gx_worker
from setanon_dagster.quality.gathering import opened
from setanon_dagster.quality.gx_worker import ValidationWorker, validate
from setanon_dagster.quality.validation import PromisedValues, run_expectations

ASKED = PromisedValues(k=K, min_owners=K, format="queries")
USED = ("raw_log", "threads", "clusters", "anonymized_threads", "ledger", "cost_report")


@pytest.fixture
def files(stored):
    return {stage: Path(stored.stages) / "trial" / stage / "all.parquet" for stage in USED}


def pages(folder):
    return sorted(path.stem for path in folder.rglob("*.html") if "validations" not in path.parts)


@pytest.mark.parametrize("spoiled", [False, True])
def test_another_process_finds_the_same_and_then_ends(files, tmp_path, spoiled):
    if spoiled:
        files["ledger"].unlink()
    here = run_expectations(partial(opened, files), ASKED, tmp_path / "here")

    with ValidationWorker() as started:
        there = started.examine(partial(opened, files), ASKED, tmp_path / "there")
        started._process.join(60)  # noqa: SLF001
        assert not started._process.is_alive()  # noqa: SLF001

    assert there == here
    assert all(finding.passed for finding in here.values()) is not spoiled
    assert pages(tmp_path / "there") == pages(tmp_path / "here")


def test_who_finds_the_process_gone_examines_by_himself(files):
    with ValidationWorker() as started:
        started._process.kill()  # noqa: SLF001
        started._process.join()  # noqa: SLF001
        token = gx_worker._started.set(started)  # noqa: SLF001
        try:
            found = validate(partial(opened, files), ASKED, None)
        finally:
            gx_worker._started.reset(token)  # noqa: SLF001

    assert found == run_expectations(partial(opened, files), ASKED, None)


def test_it_is_ended_though_nobody_asks():
    with ValidationWorker() as started:
        assert started._process.is_alive()  # noqa: SLF001
    assert not started._process.is_alive()  # noqa: SLF001


def test_it_ends_when_nobody_can_ask_any_more(monkeypatch):
    monkeypatch.setattr(gx_worker, "signal", lambda *_: None)
    ours, theirs = Pipe()
    ours.close()
    gx_worker._serve(theirs)  # noqa: SLF001


def test_no_process_is_started_where_it_would_not_help(monkeypatch):
    monkeypatch.setattr(gx_worker, "ValidationWorker", None)
    with gx_worker.examiner():  # Great Expectations is loaded here
        pass
    monkeypatch.setattr(gx_worker, "SLOW", "no.such.module")
    monkeypatch.setattr(gx_worker, "_cores", lambda: 1)
    with gx_worker.examiner():
        pass
    monkeypatch.setattr(gx_worker, "_cores", lambda: 2)
    with pytest.raises(TypeError), gx_worker.examiner():
        pass


def test_it_answers_one_question_and_is_not_asked_another(files):
    with ValidationWorker() as started:
        assert started.examine(partial(opened, files), ASKED, None) is not None
        assert started.examine(partial(opened, files), ASKED, None) is None
