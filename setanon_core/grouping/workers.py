"""Who searches the blocks of a large input: this process, unless somebody lends others.

Blocks are disjoint and their results are put together in order, so that a grouping does not depend
on who made it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""What `map` does, in this process or in others: results in the order of the arguments."""

_lent: ContextVar[Each] = ContextVar("each", default=map)


@contextmanager
def lent(each: Each) -> Iterator[None]:
    """Let `each` do the blocks, such as the `map` of a pool of processes."""
    token = _lent.set(each)
    try:
        yield
    finally:
        _lent.reset(token)


def each_of(work: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterable[Any]:
    """Do the work for each argument, in order."""
    return _lent.get()(work, arguments)
