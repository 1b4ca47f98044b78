"""Replace errors of DuckDB and Arrow, whose messages may quote data."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from setanon_core.errors import SetanonError
from setanon_dagster.storage.resource_errors import ResourceError, resource_sentence


@contextmanager
def redact_engine_errors(what: str) -> Iterator[None]:
    """Raise a `SetanonError` with `what` and the class of the engine's error, not its message.

    Errors of disk and memory get a sentence that says what to do.
    """
    try:
        yield
    except SetanonError:
        raise
    except (OSError, MemoryError) as error:
        if (sentence := resource_sentence(error)) is None:
            raise
        raise ResourceError(sentence) from None
    except (duckdb.Error, pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        if (sentence := resource_sentence(error)) is not None:
            raise ResourceError(sentence) from None
        raise SetanonError(
            f"{what}. The engine raised {type(error).__name__}; its message is withheld, because "
            "it may contain data. Run the same step on synthetic data to see the message."
        ) from None
