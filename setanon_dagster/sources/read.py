"""Read a source into typed rows and rejected lines.

Every line is accepted, rejected with a reason, or outside the time window; blank lines are counted
separately. Line numbers continue from file to file; rows of a table are numbered from 1. A record
that spans lines has the number of its first line.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.params import UserNames
from setanon_dagster.sources.attributes import attribute_columns
from setanon_dagster.sources.cell_batch import CellBatch
from setanon_dagster.sources.csv_records import Encoding, detect_encoding
from setanon_dagster.sources.loading import ReadResult, RowLoader, Window
from setanon_dagster.sources.source import PARQUET_SUFFIXES, Source
from setanon_dagster.sources.table_reader import quote_identifier, table_batches
from setanon_dagster.sources.text_reader import text_batches
from setanon_dagster.sources.times import UTC as ZONE_UTC
from setanon_dagster.storage.batches import prefetch
from setanon_dagster.storage.resource_errors import (
    DISK_FULL,
    MEMORY,
    ResourceError,
    resource_sentence,
)


def read_source(  # noqa: PLR0913 - the source, and how it is read
    source: Source,
    window: Window | None = None,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
    user_names: UserNames = "folded",
    timezone: str = ZONE_UTC,
    attributes: Sequence[str] = (),
) -> ReadResult:
    """Read a source once; with a window, only rows with start <= time < end are accepted.

    The rows are stored in a temporary table of the connection. `user_names` says which spellings
    are one user; the rows of a user get the first of them. Times without an offset are those of a
    clock in `timezone`; all are stored in UTC. `attributes` are declarations of further columns,
    whose values may be NULL. A source without any usable row is refused, except one without lines
    if there is a window.
    """
    if connection is None:
        connection = _connect()
    source = source.with_attribute_columns(attribute_columns(attributes, source.kind))
    with _redact_reader_errors(source):
        loader = RowLoader(
            connection,
            source,
            _window_in_utc(source, window),
            user_names=user_names,
            timezone=timezone,
            attributes=attributes,
        )
        encodings: set[Encoding] = set()
        line = 1
        for read_file in _readers(source, encodings, timezone):
            line += loader.load_file(prefetch(read_file(line)))
        return loader.result(tuple(sorted(encodings)))


def _readers(
    source: Source, encodings: set[Encoding], timezone: str
) -> Iterator[Callable[[int], Iterator[CellBatch]]]:
    """Yield one function per file; it takes the number of the first line and reads the file.

    The encodings of text files are added to `encodings`.
    """
    if source.table is not None:
        if not isinstance(source.uri, str):
            raise InvalidParameterError(
                f"uri must be one DuckDB file if table is set; got {len(source.uri)} paths."
            )
        (path,) = source.paths
        name = ".".join(quote_identifier(part) for part in source.table.split("."))
        yield partial(table_batches, source, _connect(path), name, timezone=timezone)
        return
    for path in source.paths:
        if path.suffix.lower() in PARQUET_SUFFIXES:
            literal = str(path).replace("'", "''")
            rows = f"read_parquet('{literal}', hive_partitioning=false)"
            yield partial(table_batches, source, _connect(), rows, timezone=timezone)
        else:
            encoding = source.encoding or detect_encoding(path, source.longest_line)
            encodings.add(encoding)
            yield partial(text_batches, source, path, encoding)


def _connect(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A new connection: in memory, or read-only to a DuckDB file."""
    connection = duckdb.connect() if path is None else duckdb.connect(str(path), read_only=True)
    connection.execute("SET python_enable_replacements = false").fetchall()
    # By default it would spill private rows into the working directory.
    connection.execute("SET temp_directory = ''").fetchall()
    return connection


def _window_in_utc(source: Source, window: Window | None) -> Window | None:
    """The window in UTC without zone, as the times are stored."""
    if window is None:
        return None
    start, end = (
        moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        for moment in window
    )
    if source.kind != "log" or start >= end:
        raise InvalidParameterError(
            "a window must belong to a source with kind='log', and start before it ends; got "
            f"kind={source.kind!r} and {start.isoformat()} to {end.isoformat()}."
        )
    return start, end


@contextmanager
def _redact_reader_errors(source: Source) -> Iterator[None]:
    """Replace errors whose messages may contain cells."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error) as error:
        if (sentence := resource_sentence(error)) in {DISK_FULL, MEMORY}:
            raise ResourceError(sentence) from None
        raise MalformedInputError(
            f"{source.name} must be readable to its end, in the format that its file suffix "
            f"implies; {type(error).__name__} was raised. Check that the file is complete, that "
            "this user may read it, that the table exists, and that no process writes to it."
        ) from None
