"""How far a long step is: counts and the names of steps, told to whoever wants to know.

Nobody does by default, and then it costs nothing. What is told is never of the data.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

Each = TypeVar("Each")

ProgressListener = Callable[[str, int, int], object]
"""Hears what is done, how much of it, and how much there is; 0 if nobody knows."""

EVERY: Final = 1024
"""Small steps after which is told how many are done."""

_listening: ContextVar[tuple[ProgressListener, ...]] = ContextVar("listening", default=())


@contextmanager
def listen_to_progress(reporter: ProgressListener) -> Iterator[None]:
    """Let `reporter` hear of all steps inside, besides those who listen already.

    >>> heard = []
    >>> with listen_to_progress(lambda *told: heard.append(told)):
    ...     report_progress("threads", 3, 10)
    >>> heard
    [('threads', 3, 10)]
    """
    token = _listening.set((*_listening.get(), reporter))
    try:
        yield
    finally:
        _listening.reset(token)


def report_progress(what: str, done: int, total: int = 0) -> None:
    """Tell how far this step is; call it often, for whoever listens decides what to show."""
    for reporter in _listening.get():
        reporter(what, done, total)


def with_progress(what: str, steps: Sequence[Each]) -> Iterator[Each]:
    """Tell now and then how many of very many small steps are done.

    >>> list(with_progress("letters", "abc"))
    ['a', 'b', 'c']
    """
    for start in range(0, len(steps), EVERY):
        report_progress(what, start, len(steps))
        yield from steps[start : start + EVERY]
