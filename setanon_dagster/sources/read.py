"""A source as typed rows, and the lines that were set aside.

Every line is accepted, set aside with a reason, or outside the window asked for; blank lines are
none of these, and counted apart. Line numbers run on from file to file; rows of a table count
from 1. A record that spans lines has the number of its first.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_dagster.sources.blocks import Chunk
from setanon_dagster.sources.loading import Intake, Read, Window
from setanon_dagster.sources.sniffing import quoted, table_chunks, text_chunks
from setanon_dagster.sources.source import Source
from setanon_dagster.storage.batches import prefetch

PARQUET: Final = {".parquet", ".pq"}


def read_source(
    source: Source,
    window: Window | None = None,
    *,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> Read:
    """Read a source once, from start <= time < end if there is a window; refuse it if all is bad.

    The rows are held in the connection, in memory or where it spills to.
    """
    if connection is None:
        connection = _fresh()
    with _without_content(source):
        intake = Intake(connection, source, _bounds(source, window))
        line = 1
        for chunks in _files(source):
            line += intake.take_file(prefetch(chunks(line)))
        return intake.result()


def _files(source: Source) -> Iterator[Callable[[int], Iterator[Chunk]]]:
    """What reads each file, given the number of its first line."""
    if source.table is not None:
        if not isinstance(source.uri, str):
            raise InvalidParameterError("uri must be one DuckDB file where a table is named.")
        (path,) = source.paths
        database = _fresh(path)
        name = ".".join(quoted(part) for part in source.table.split("."))
        yield partial(table_chunks, source, database, name)
        return
    for path in source.paths:
        if path.suffix.lower() in PARQUET:
            literal = str(path).replace("'", "''")
            rows = f"read_parquet('{literal}', hive_partitioning=false)"
            yield partial(table_chunks, source, _fresh(), rows)
        else:
            yield partial(text_chunks, source, path)


def _fresh(path: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A connection of our own: in memory, or to a file that is only read."""
    opened = duckdb.connect() if path is None else duckdb.connect(str(path), read_only=True)
    opened.execute("SET python_enable_replacements = false").fetchall()
    # What it would spill into the working folder are private rows.
    opened.execute("SET temp_directory = ''").fetchall()
    return opened


def _bounds(source: Source, window: Window | None) -> Window | None:
    """The window in UTC without zone, as the times are."""
    if window is None:
        return None
    start, end = (
        moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        for moment in window
    )
    if source.kind != "log" or start >= end:
        raise InvalidParameterError(
            f"a window must be of a log, and start before it ends; got kind={source.kind!r} and "
            f"{start.isoformat()} to {end.isoformat()}."
        )
    return start, end


@contextmanager
def _without_content(source: Source) -> Iterator[None]:
    """Errors of engines may show cells: say what failed, and nothing of their text."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise MalformedInputError(
            f"{source.name} must be readable to its end, by this user, and be what its name "
            f"says; {type(error).__name__} was raised. See if the file is whole, if the table is "
            "there, and if nobody writes to it."
        ) from None
