"""Errors on their way into Dagster's event log: counts and places, never data."""

from collections.abc import Iterator
from contextlib import contextmanager
from traceback import extract_tb

import dagster as dg
import duckdb

from setanon_core.errors import SetanonError


@contextmanager
def redact_errors(*, retry: bool = False) -> Iterator[None]:
    """Let only our own sentences through; of any other error, its class and where it was raised.

    Ours are final: what was refused once is refused again. Others are retried if asked for, and so
    are ours where a file was out of reach.
    """
    try:
        yield
    except SetanonError as error:
        absent = isinstance(error.__context__, OSError | duckdb.IOException)
        raise dg.Failure(str(error), allow_retries=retry and absent) from None
    except dg.Failure:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its text must not get through
        # Its text, and its traceback, may quote a query or a user.
        place = extract_tb(error.__traceback__)[-1]
        raise dg.Failure(
            f"The stage must run through; {type(error).__name__} was raised in {place.name}, line "
            f"{place.lineno}. Its text is withheld, since it may hold data. Run the stage outside "
            "Dagster to see it.",
            allow_retries=retry,
        ) from None
