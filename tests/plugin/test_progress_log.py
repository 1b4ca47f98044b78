"""Progress messages: rate limit, rate and remaining time, with a fake clock."""

import pytest

from setanon_core.runtime.progress import listen_to_progress, report_progress
from setanon_dagster.runtime.progress_log import ProgressLogger, progress_message


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_one_message_per_interval_with_rate_and_time_left():
    messages, clock = [], Clock()
    logger = ProgressLogger(messages.append, interval=3, clock=clock)
    for done in range(0, 1001, 100):
        logger("threads", done, 10_000)
        clock.now += 1
    assert messages == [
        "threads: 300 of 10,000, 100 per second, 1 min 37 s left",
        "threads: 600 of 10,000, 100 per second, 1 min 34 s left",
        "threads: 900 of 10,000, 100 per second, 1 min 31 s left",
    ]


def test_another_step_resets_the_rate():
    messages, clock = [], Clock()
    logger = ProgressLogger(messages.append, interval=3, clock=clock)
    logger("threads", 0, 10)
    clock.now += 2
    logger("clusters", 500, 1000)
    clock.now += 4
    logger("clusters", 700, 1000)
    assert messages == ["clusters: 700 of 1,000, 50 per second, 6 s left"]


@pytest.mark.parametrize(
    ("done", "total", "rate", "message"),
    [
        (0, 10, 0.0, "x: 0 of 10, 0 per second"),
        (10, 10, 5.0, "x: 10 of 10, 5 per second"),
        (7, 0, 3.5, "x: 7, 4 per second"),
        (12, 10, 1.0, "x: 12 of 10, 1 per second"),
    ],
)
def test_no_time_left_if_it_cannot_be_estimated(done, total, rate, message):
    assert progress_message("x", done, total, rate) == message


def test_nested_listeners_receive_progress_only_inside_their_block():
    outer, inner = [], []
    with listen_to_progress(lambda *report: outer.append(report)):
        with listen_to_progress(lambda *report: inner.append(report)):
            report_progress("a", 1, 2)
        report_progress("b", 3)
    report_progress("c", 5)
    assert (outer, inner) == ([("a", 1, 2), ("b", 3, 0)], [("a", 1, 2)])
