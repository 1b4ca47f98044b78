"""Processes that work beside this one; the result is the same without them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Final, TypeVar

from threadpoolctl import threadpool_limits

from setanon_core.runtime.executor import use_executor

Argument = TypeVar("Argument")
Result = TypeVar("Result")

ENOUGH: Final = 50_000
"""Threads from which on processes are worth the second that it takes to start them."""

AHEAD: Final = 2
"""Pieces of work for each process that wait for it: a bound for memory."""


class ProcessPool:
    """A pool that works through any number of arguments, few of them at a time."""

    def __init__(self, pool: ProcessPoolExecutor, number: int) -> None:
        """Keep every process of the pool busy."""
        self._pool, self._ahead = pool, AHEAD * number

    def map_ordered(
        self, work: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterator[Result]:
        """Results in the order of the arguments, which are taken as they are needed."""
        waiting: deque[Future[Result]] = deque()
        for argument in arguments:
            waiting.append(self._pool.submit(work, argument))
            if len(waiting) > self._ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def submit(self, work: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        """Begin the work now."""
        return self._pool.submit(work, *arguments).result


@contextmanager
def process_pool(number: int, threads: int) -> Iterator[None]:
    """Lend processes, if there are enough threads of queries to share."""
    if number == 1 or threads < ENOUGH:
        yield
        return
    # Not forked: a copy of a process that has threads may find its locks held for ever.
    with (
        ProcessPoolExecutor(number, get_context("spawn"), threadpool_limits, (1, "blas")) as pool,
        use_executor(ProcessPool(pool, number)),
    ):
        for _ in range(number):
            pool.submit(abs, 0)  # they start now, and not when there is work for them
        yield
