"""How far a step is: a sentence now and then, by a clock that is not the machine's."""

from io import StringIO

import pytest
from rich.console import Console

from setanon_core.runtime.progress import listen_to_progress, report_progress
from setanon_dagster.cli.progress import ReleaseProgress
from setanon_dagster.runtime.progress_log import ProgressLogger, progress_sentence


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_sentence_comes_every_few_seconds_and_tells_rate_and_time_left():
    said, clock = [], Clock()
    pace = ProgressLogger(said.append, every=3, clock=clock)
    for done in range(0, 1001, 100):
        pace("threads", done, 10_000)
        clock.now += 1
    assert said == [
        "threads: 300 of 10,000, 100 a second, 1 min 37 s left",
        "threads: 600 of 10,000, 100 a second, 1 min 34 s left",
        "threads: 900 of 10,000, 100 a second, 1 min 31 s left",
    ]


def test_another_step_begins_anew():
    said, clock = [], Clock()
    pace = ProgressLogger(said.append, every=3, clock=clock)
    pace("threads", 0, 10)
    clock.now += 2
    pace("clusters", 500, 1000)
    clock.now += 4
    pace("clusters", 700, 1000)
    assert said == ["clusters: 700 of 1,000, 50 a second, 6 s left"]


@pytest.mark.parametrize(
    ("done", "total", "rate", "told"),
    [
        (0, 10, 0.0, "x: 0 of 10, 0 a second"),
        (10, 10, 5.0, "x: 10 of 10, 5 a second"),
        (7, 0, 3.5, "x: 7, 4 a second"),
        (12, 10, 1.0, "x: 12 of 10, 1 a second"),
    ],
)
def test_nothing_is_foretold_that_nobody_knows(done, total, rate, told):
    assert progress_sentence("x", done, total, rate) == told


def test_all_who_listen_hear_it_and_nobody_else():
    one, other = [], []
    with listen_to_progress(lambda *told: one.append(told)):
        with listen_to_progress(lambda *told: other.append(told)):
            report_progress("a", 1, 2)
        report_progress("b", 3)
    report_progress("c", 5)
    assert (one, other) == ([("a", 1, 2), ("b", 3, 0)], [("a", 1, 2)])


def test_a_terminal_shows_the_pace_of_what_runs():
    out = StringIO()
    progress = ReleaseProgress(Console(file=out, force_terminal=True, width=80))
    progress.moved("threads", 1, 2)
    progress.pace.every = 0
    progress.started("threads")
    progress.moved("threads", 50, 100)
    progress.finished("threads", {}, 1.0)
    assert "threads: 50 of 100" in out.getvalue()


def test_where_nobody_looks_on_nothing_is_shown():
    out = StringIO()
    progress = ReleaseProgress(Console(file=out, width=80))
    progress.started("threads")
    progress.pace.every = 0
    progress.moved("threads", 50, 100)
    assert not out.getvalue()
