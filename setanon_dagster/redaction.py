"""Errors for Dagster's event log: counts and code locations, never data."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import extract_tb
from typing import Final

import dagster as dg
import duckdb

from setanon_core.errors import SetanonError
from setanon_dagster.storage.resource_errors import resource_sentence

INTERNAL_ERROR: Final = "Internal error:"
"""Start of the message about an error that is not ours; its class follows."""


@contextmanager
def explain_resource_errors() -> Iterator[None]:
    """Raise `dg.Failure` with a sentence for errors of disk, memory and processes only."""
    try:
        yield
    except Exception as error:
        if (sentence := resource_sentence(error)) is None:
            raise
        raise dg.Failure(sentence, allow_retries=False) from None


@contextmanager
def redact_errors(*, retry: bool = False) -> Iterator[None]:
    """Pass on messages of `SetanonError`; of other errors, only class and code location.

    `SetanonError` is not retried, except where a file was not available. Other errors are retried
    if `retry` is set. Errors of disk, memory and processes get a sentence that says what to do.
    """
    try:
        yield
    except SetanonError as error:
        unavailable = isinstance(error.__context__, OSError | duckdb.IOException)
        raise dg.Failure(str(error), allow_retries=retry and unavailable) from None
    except dg.Failure:
        raise
    except Exception as error:  # noqa: BLE001 - no message may get into the event log
        if (sentence := resource_sentence(error)) is not None:
            raise dg.Failure(sentence, allow_retries=retry) from None
        # `from None`: message and traceback may quote a query or a user.
        location = extract_tb(error.__traceback__)[-1]
        raise dg.Failure(
            f"{INTERNAL_ERROR} {type(error).__name__} in {location.name}, line {location.lineno} "
            "(message withheld, it may contain data). Run the stage outside Dagster to see it.",
            allow_retries=retry,
        ) from None
