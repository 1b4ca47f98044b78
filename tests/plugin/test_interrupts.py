"""Somebody presses Ctrl-C, and Python loses it."""

import os
import signal
from types import SimpleNamespace

import pytest

from setanon_dagster.cli.run import run_release
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.runtime.interrupts import InterruptWatch
from setanon_dagster.sources.source import Source


@pytest.fixture
def _deaf():
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_deaf")
def test_an_interrupt_is_seen_though_its_handler_does_nothing():
    with InterruptWatch() as interrupts:
        assert not interrupts.received()
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.received()
        assert interrupts.received()


def lose(stage, *_):
    """As in a callback of Python's own: the error is raised, and ignored."""
    if stage == "clusters":
        before = signal.signal(signal.SIGINT, lambda *_: None)
        os.kill(os.getpid(), signal.SIGINT)
        signal.signal(signal.SIGINT, before)


def test_nothing_is_published_after_an_interrupt_that_got_lost(tmp_path):
    log = tmp_path / "log.tsv"
    log.write_text("".join(f"u{n}\t2024-01-01\tpine straw\n" for n in range(4)))
    config = ReleaseConfig(name="log", source=Source(str(log)), k=3, out=str(tmp_path / "out"))
    watcher = SimpleNamespace(
        started=lambda _: None, moved=lambda *_: None, finished=lose, failed=lambda _: None
    )

    outcome = run_release(config, watcher)

    assert outcome.folder is None
    assert "The run was stopped" in outcome.failures[0]
    assert not (tmp_path / "out" / "releases" / "latest").exists()
