"""SIGINT is detected even if its KeyboardInterrupt is lost."""

import os
import signal
from types import SimpleNamespace

import pytest

from setanon_dagster.cli.run import run_release
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.runtime.interrupts import InterruptWatch
from setanon_dagster.sources.source import Source


@pytest.fixture
def _sigint_ignored():
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("_sigint_ignored")
def test_interrupt_is_detected_if_its_handler_does_nothing():
    with InterruptWatch() as interrupts:
        assert not interrupts.received()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.received()
        assert interrupts.received()


def interrupt_unnoticed(stage, *_):
    """Send SIGINT without a KeyboardInterrupt, as if it was raised in a callback and ignored."""
    if stage == "clusters":
        previous = signal.signal(signal.SIGINT, lambda *_: None)
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, previous)


def test_unnoticed_interrupt_stops_the_run_before_publication(tmp_path):
    log = tmp_path / "log.tsv"
    log.write_text("".join(f"u{n}\t2024-01-01\tpine straw\n" for n in range(4)))
    config = ReleaseConfig(name="log", source=Source(str(log)), k=3, out=str(tmp_path / "out"))
    observer = SimpleNamespace(
        started=lambda _: None,
        advanced=lambda *_: None,
        finished=interrupt_unnoticed,
        failed=lambda _: None,
    )

    outcome = run_release(config, observer)

    assert outcome.folder is None
    assert "The run was stopped" in outcome.failures[0]
    assert not list((tmp_path / "out" / "releases").glob("*"))
