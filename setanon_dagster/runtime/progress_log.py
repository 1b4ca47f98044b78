"""Rate-limited progress logger."""

from collections.abc import Callable
from time import monotonic
from typing import Final

INTERVAL: Final = 3.0
"""Minimum seconds between two messages."""

MINUTE: Final = 60


class ProgressLogger:
    """Progress listener that logs at most one message per interval, none for short steps."""

    def __init__(
        self,
        log: Callable[[str], object],
        *,
        interval: float = INTERVAL,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Pass messages to `log`."""
        self.log, self.interval, self.clock = log, interval, clock
        self._step, self._first_done = "", 0
        self._step_start = self._last_message = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        """Log the progress of a step if the interval has passed."""
        now = self.clock()
        if step != self._step:
            # The rate is measured from the first call: the start of the step is unknown.
            self._step, self._first_done = step, done
            self._step_start = self._last_message = now
        if now - self._last_message < self.interval:
            return
        self._last_message = now
        rate = max(done - self._first_done, 0) / max(now - self._step_start, 1e-9)
        self.log(progress_message(step, done, total, rate))


def progress_message(step: str, done: int, total: int, rate: float) -> str:
    """Count, rate and remaining time of a step.

    >>> progress_message("threads", 250_000, 1_000_000, 50_000.0)
    'threads: 250,000 of 1,000,000, 50,000 per second, 15 s left'
    """
    of = f" of {total:,}" if total else ""
    left = f", {_duration((total - done) / rate)} left" if rate and total > done else ""
    return f"{step}: {done:,}{of}, {rate:,.0f} per second{left}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
