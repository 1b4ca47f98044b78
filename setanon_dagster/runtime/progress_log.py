"""How fast a step goes, and how long it will take: a sentence now and then."""

from collections.abc import Callable
from time import monotonic
from typing import Final

EVERY: Final = 3.0
"""Seconds between two sentences."""

MINUTE: Final = 60


class ProgressLogger:
    """Says so at most every few seconds: a step that is done before has said nothing."""

    def __init__(
        self,
        say: Callable[[str], object],
        *,
        every: float = EVERY,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Tell `say`; a reporter of `setanon_core.runtime.progress`."""
        self.say, self.every, self.clock = say, every, clock
        self.what, self.first = "", 0
        self.began = self.said = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Hear how far a step is."""
        now = self.clock()
        if what != self.what:
            # How long the first part took, nobody knows.
            self.what, self.first, self.began, self.said = what, done, now, now
        if now - self.said < self.every:
            return
        self.said = now
        rate = max(done - self.first, 0) / max(now - self.began, 1e-9)
        self.say(progress_sentence(what, done, total, rate))


def progress_sentence(what: str, done: int, total: int, rate: float) -> str:
    """How far, how fast, and how long still.

    >>> progress_sentence("threads", 250_000, 1_000_000, 50_000.0)
    'threads: 250,000 of 1,000,000, 50,000 a second, 15 s left'
    """
    of = f" of {total:,}" if total else ""
    left = f", {_time((total - done) / rate)} left" if rate and total > done else ""
    return f"{what}: {done:,}{of}, {rate:,.0f} a second{left}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
