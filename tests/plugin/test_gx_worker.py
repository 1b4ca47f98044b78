"""The validation worker returns what the calling process would return."""

from functools import partial
from multiprocessing import Pipe
from pathlib import Path

import pytest

pytest.importorskip("dagster")
pytest.importorskip("great_expectations")

from support.release_runs import K

from setanon_dagster.quality import gx_worker
from setanon_dagster.quality.data_docs import CheckOutcome, DataDocs
from setanon_dagster.quality.gx_worker import ValidationWorker, validate
from setanon_dagster.quality.promises import ReleasePromises
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.quality.validation import run_expectations

PROMISES = ReleasePromises(k=K, min_owners=K, format="queries")
STAGES = ("raw_log", "threads", "clusters", "anonymized_threads", "ledger", "cost_report")


@pytest.fixture
def files(release_copy):
    return {stage: Path(release_copy.stages) / "trial" / stage / "all.parquet" for stage in STAGES}


def pages(folder):
    return sorted(path.stem for path in folder.rglob("*.html"))


def docs(folder):
    return DataDocs(folder, "trial")


@pytest.mark.slow
def test_worker_returns_the_same_outcomes_once_and_ends(files, tmp_path):
    here = run_expectations(partial(open_stages, files), PROMISES, docs(tmp_path / "here"))

    with ValidationWorker() as worker:
        there = worker.validate(partial(open_stages, files), PROMISES, docs(tmp_path / "there"))
        assert worker.validate(partial(open_stages, files), PROMISES, None) is None, "used before"
        worker._process.join(60)  # noqa: SLF001
        assert not worker._process.is_alive()  # noqa: SLF001

    assert there == here
    assert all(outcome.passed for outcome in here.values())
    assert pages(tmp_path / "there") == pages(tmp_path / "here")


def test_worker_main_function_sends_the_outcomes(files, monkeypatch):
    monkeypatch.setattr(gx_worker, "signal", lambda *_: None)
    files["ledger"].unlink()
    parent, worker = Pipe()
    parent.send((partial(open_stages, files), PROMISES, None))
    gx_worker._serve(worker)  # noqa: SLF001
    outcomes = parent.recv()
    assert outcomes == run_expectations(partial(open_stages, files), PROMISES, None)
    assert not any(outcome.passed for outcome in outcomes.values())


def test_release_is_validated_in_this_process_if_the_worker_was_killed(monkeypatch):
    outcomes = {"a_check": CheckOutcome(passed=True)}
    monkeypatch.setattr("setanon_dagster.quality.validation.run_expectations", lambda *_: outcomes)
    with ValidationWorker() as worker:
        worker._process.kill()  # noqa: SLF001
        worker._process.join()  # noqa: SLF001
        token = gx_worker._current.set(worker)  # noqa: SLF001
        try:
            assert validate(partial(open_stages, {}), PROMISES, None) is outcomes
        finally:
            gx_worker._current.reset(token)  # noqa: SLF001


def test_unused_worker_is_terminated():
    with ValidationWorker() as worker:
        assert worker._process.is_alive()  # noqa: SLF001
    assert not worker._process.is_alive()  # noqa: SLF001


def test_worker_ends_when_the_pipe_is_closed(monkeypatch):
    monkeypatch.setattr(gx_worker, "signal", lambda *_: None)
    parent, worker = Pipe()
    parent.close()
    gx_worker._serve(worker)  # noqa: SLF001


def test_no_worker_is_started_if_it_would_not_save_time(monkeypatch):
    monkeypatch.setattr(gx_worker, "ValidationWorker", None)
    with gx_worker.validation_worker():  # Great Expectations is imported already
        pass
    monkeypatch.setattr(gx_worker, "SLOW_IMPORT", "no.such.module")
    monkeypatch.setattr(gx_worker, "_cores", lambda: 1)
    with gx_worker.validation_worker():
        pass
    monkeypatch.setattr(gx_worker, "_cores", lambda: 2)
    with pytest.raises(TypeError), gx_worker.validation_worker():
        pass
