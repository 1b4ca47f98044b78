"""Errors of DuckDB and Arrow without their text, which may quote data."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from setanon_core.errors import SetanonError


@contextmanager
def redact_engine_errors(what: str) -> Iterator[None]:
    """Put the class of an engine's error in place of its text, which may quote cells."""
    try:
        yield
    except SetanonError:
        raise
    except (duckdb.Error, pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise SetanonError(
            f"{what}. The engine refused with {type(error).__name__}; its text is left out, as it "
            "may quote the data. Run the same step on made-up data to see it."
        ) from None
