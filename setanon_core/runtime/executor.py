"""Pluggable executor for independent calls; in-process by default.

Results are combined in the order of the arguments: the output does not depend on the executor.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs functions, for example in a process pool."""

    shares_files: bool
    """Whether it runs them in other processes that read the files of this one, and only once."""

    def map_ordered(
        self, function: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterable[Result]:
        """Apply the function to each argument; results are in the order of the arguments."""
        ...

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        """Start the call; return a function that waits for its result."""
        ...


class _InProcessExecutor:
    """Runs each call in this process, when its result is requested."""

    shares_files = False

    def map_ordered(
        self, function: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterable[Result]:
        return map(function, arguments)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        return lambda: function(*arguments)


_current: ContextVar[Executor] = ContextVar("executor", default=_InProcessExecutor())  # noqa: B039 - it has no state


@contextmanager
def use_executor(executor: Executor) -> Iterator[None]:
    """Run the calls of `map_ordered` and `submit` in this context by `executor`."""
    token = _current.set(executor)
    try:
        yield
    finally:
        _current.reset(token)


def shares_files() -> bool:
    """Whether the current executor may be sent paths instead of data."""
    return _current.get().shares_files


def map_ordered(
    function: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> Iterable[Result]:
    """Apply the function to each argument by the current executor; results are in order."""
    return _current.get().map_ordered(function, arguments)


def submit(function: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
    """Start a call by the current executor; return a function that waits for its result.

    >>> total = submit(sum, [1, 2, 3])
    >>> total()
    6
    """
    return _current.get().submit(function, *arguments)
