"""Processes that search for better groups beside this one; the result is the same without them."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Final

from threadpoolctl import threadpool_limits

from setanon_core.grouping.workers import lent

ENOUGH: Final = 50_000
"""Threads from which on processes are worth the second that it takes to start them."""

AT_ONCE: Final = 32
"""Blocks that are sent to a process together."""


@contextmanager
def workers(number: int, threads: int) -> Iterator[None]:
    """Lend processes to the search, if there are enough threads of queries to search."""
    if number == 1 or threads < ENOUGH:
        yield
        return
    # Not forked: a copy of a process that has threads may find its locks held for ever.
    with (
        ProcessPoolExecutor(number, get_context("spawn"), threadpool_limits, (1, "blas")) as pool,
        lent(partial(pool.map, chunksize=AT_ONCE)),
    ):
        yield
