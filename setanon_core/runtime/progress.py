"""Progress of long steps, reported to listeners: name of the step, and counts.

There are no listeners by default, and reports then cost almost nothing. Reports contain no data.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeVar

Element = TypeVar("Element")

ProgressListener = Callable[[str, int, int], object]
"""Called with the name of a step, the count done, and the total count; 0 if it is not known."""

REPORT_EVERY: Final = 1024
"""Elements between two reports of `with_progress`."""

_listeners: ContextVar[tuple[ProgressListener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listen_to_progress(listener: ProgressListener) -> Iterator[None]:
    """Add a listener for the reports in this context; outer listeners stay active.

    >>> reports = []
    >>> with listen_to_progress(lambda *report: reports.append(report)):
    ...     report_progress("threads", 3, 10)
    >>> reports
    [('threads', 3, 10)]
    """
    token = _listeners.set((*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def report_progress(step: str, done: int, total: int = 0) -> None:
    """Call all listeners; report often: a listener decides what to show."""
    for listener in _listeners.get():
        listener(step, done, total)


def with_progress(step: str, elements: Sequence[Element]) -> Iterator[Element]:
    """Iterate over very many elements; report progress once per `REPORT_EVERY` elements.

    >>> list(with_progress("letters", "abc"))
    ['a', 'b', 'c']
    """
    for start in range(0, len(elements), REPORT_EVERY):
        report_progress(step, start, len(elements))
        yield from elements[start : start + REPORT_EVERY]
