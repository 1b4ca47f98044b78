"""Prefetched values: order, errors, look-ahead of one value, and context variables."""

from contextvars import ContextVar

import pytest

from setanon_dagster.storage.batches import prefetch

LISTENER = ContextVar("LISTENER", default="none")


def test_one_value_is_computed_ahead():
    computed = []

    def values():
        for number in range(10):
            computed.append(number)
            yield number

    iterator = prefetch(values())
    assert next(iterator) == 0
    assert next(iterator) == 1
    iterator.close()
    assert computed == [0, 1, 2]


def test_an_error_is_raised_after_the_values_before_it():
    def values():
        yield 1
        raise LookupError

    iterator = prefetch(values())
    assert next(iterator) == 1
    with pytest.raises(LookupError):
        next(iterator)


def test_context_variables_are_visible_to_the_background_worker():
    token = LISTENER.set("progress")
    try:
        assert list(prefetch(LISTENER.get() for _ in range(2))) == ["progress"] * 2
    finally:
        LISTENER.reset(token)
