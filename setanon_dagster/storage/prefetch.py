"""Iterate over values while a background worker computes the next one."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final, TypeVar

Value = TypeVar("Value")

_END: Final[Any] = object()


def prefetch(values: Iterable[Value]) -> Iterator[Value]:
    """Yield the values in order; while one is in use, a background worker computes the next.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    iterator = iter(values)
    context = copy_context()  # progress listeners are context variables: the worker needs them

    def compute_next() -> Any:  # noqa: ANN401 - a value, or _END
        return context.run(lambda: next(iterator, _END))

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(compute_next)
        while (value := future.result()) is not _END:
            future = pool.submit(compute_next)
            yield value
