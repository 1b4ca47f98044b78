"""Who does what can be done side by side: this process, unless somebody lends others.

Results are put together in the order of what was asked, so that nothing depends on who did it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Executor(Protocol):
    """Other processes, or this one."""

    def map_ordered(
        self, work: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterable[Result]:
        """Do what `map` does: results in the order of the arguments."""
        ...

    def submit(self, work: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        """Begin the work, and return what waits for its result."""
        ...


class _Here:
    """This process: it does one thing after the other, and nothing before it is asked for."""

    def map_ordered(
        self, work: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterable[Result]:
        return map(work, arguments)

    def submit(self, work: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        return lambda: work(*arguments)


_lent: ContextVar[Executor] = ContextVar("workers", default=_Here())  # noqa: B039 - it has no state


@contextmanager
def use_executor(workers: Executor) -> Iterator[None]:
    """Let these workers do what can be done side by side."""
    token = _lent.set(workers)
    try:
        yield
    finally:
        _lent.reset(token)


def map_ordered(
    work: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> Iterable[Result]:
    """Do the work for each argument, in order."""
    return _lent.get().map_ordered(work, arguments)


def submit(work: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
    """Do the work while this process goes on, if somebody can; what is returned waits for it.

    >>> total = submit(sum, [1, 2, 3])
    >>> total()
    6
    """
    return _lent.get().submit(work, *arguments)
