"""Process pools with a bounded ordered map. Results do not depend on the number of processes."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from signal import SIG_IGN, SIGINT, signal
from typing import Any, Final, TypeVar

from threadpoolctl import threadpool_limits

from setanon_core.runtime.executor import use_executor
from setanon_dagster.runtime.parent_exit import exit_with_parent

Argument = TypeVar("Argument")
Result = TypeVar("Result")

MIN_THREADS: Final = 50_000
"""Threads of queries below which starting processes takes longer than they save."""

PENDING_PER_PROCESS: Final = 2
"""Tasks per process that are submitted in advance; bounds memory."""


def start_processes(workers: int, *, ignore_interrupts: bool = False) -> ProcessPoolExecutor:
    """Start a pool of processes with one BLAS core each.

    `ignore_interrupts`: Ctrl-C is left to the parent, which shuts down the pool.
    """
    # Spawn, not fork: a forked child may inherit locked mutexes.
    return ProcessPoolExecutor(workers, get_context("spawn"), _initialize, (ignore_interrupts,))


def _initialize(ignore_interrupts: bool) -> None:  # noqa: FBT001 - the pool passes positionals only
    exit_with_parent()
    if ignore_interrupts:
        signal(SIGINT, SIG_IGN)
    threadpool_limits(1, "blas")


def map_bounded(
    pool: Executor | None,
    function: Callable[[Argument], Result],
    arguments: Iterable[Argument],
    limit: int,
) -> Generator[Result]:
    """Map in order with at most `limit` unfinished or unread results; without a pool, in-process.

    Arguments are taken from the iterable only when there is room for them. An error is raised at
    the position of its argument. On an error or when the generator is closed, tasks that have not
    started are cancelled.

    >>> list(map_bounded(None, abs, [-3, 2, -1], limit=2))
    [3, 2, 1]
    """
    if pool is None:
        yield from map(function, arguments)
        return
    pending: deque[Future[Result]] = deque()
    try:
        for argument in arguments:
            pending.append(pool.submit(function, argument))
            if len(pending) >= limit:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


class PoolExecutor:
    """Runs the parallel parts of `setanon_core` in a pool of processes."""

    def __init__(self, pool: Executor, workers: int, *, shares_files: bool = True) -> None:
        """Use this pool, which has `workers` processes."""
        self.shares_files = shares_files
        self._pool, self._limit = pool, PENDING_PER_PROCESS * workers

    def map_ordered(
        self, work: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterator[Result]:
        """Results in the order of the arguments, which are read as needed."""
        return map_bounded(self._pool, work, arguments, self._limit)

    def submit(self, work: Callable[..., Result], *arguments: Any) -> Callable[[], Result]:  # noqa: ANN401
        """Start the work now; the returned function waits for its result."""
        return self._pool.submit(work, *arguments).result


@contextmanager
def use_processes(workers: int, threads: int) -> Iterator[None]:
    """Let the core use a process pool, unless there are too few threads of queries."""
    if workers == 1 or threads < MIN_THREADS:
        yield
        return
    with start_processes(workers) as pool, use_executor(PoolExecutor(pool, workers)):
        for _ in range(workers):
            pool.submit(abs, 0)  # start the processes now, not at the first task
        yield
