"""One machine: DuckDB sorts, joins and counts out of core, processes run what Python must do.

Complexity: memory is DuckDB's limit, plus for each process what one chunk needs; time is the sort,
            then the functions on all cores. Chunks are cut from one sorted stream by the number of
            their rows, so that no process waits for a bucket that happens to be large. (A query
            for each bucket of users is as quick where there are as many buckets as cores, but such
            buckets do not fit into memory; with many, each reads the file again.)
            A group is never cut, however large: it lies in a file that is mapped by the process
            that works on it, and the others go on meanwhile, as far ahead as `AHEAD` lets them.
            What it costs is up to the function. A function that can do with parts of a group says
            so by `longest`: a session is parted, and so no thread is longer than that.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from tempfile import TemporaryDirectory
from typing import Final, Self

import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation
from threadpoolctl import threadpool_limits

from setanon_core.runtime.progress import report_progress
from setanon_dagster.engines.chunks import Chunk, cut_chunks, process_chunk, take_result
from setanon_dagster.engines.protocol import GroupFunction
from setanon_dagster.storage.batches import reader_of_tables
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import FAST_LEVEL, read_parquet, write_parquet

ROWS: Final = 100_000
"""Rows of a chunk, at least: many enough for columns, few enough for several in memory."""

BATCH: Final = 61_440
"""Rows that DuckDB hands over at once."""

AHEAD: Final = 4
"""Chunks for each process that are cut before the result of the first is needed."""

ENOUGH: Final = 1_000_000
"""Rows from which on processes are worth the seconds that it takes to start them."""


class EmbeddedEngine:
    """DuckDB and processes; results do not depend on how many, nor on the size of chunks."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 1,
        memory_limit: str | None = None,
        rows: int = ROWS,
        enough: int = ENOUGH,
    ) -> None:
        """Spill into this folder, which is private; close it, or use it in a `with`."""
        self.workers, self.rows, self.enough = workers, rows, enough
        self._opened = ExitStack()
        own = TemporaryDirectory(dir=private_folder(folder), prefix="chunks-")
        self.folder = Path(self._opened.enter_context(own))
        self.connection: DuckDBPyConnection = self._opened.enter_context(
            connect(memory_limit, temp_folder=folder)
        )
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Be closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes, and remove what was spilled."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._opened.close()

    def read(self, uri: str) -> DuckDBPyRelation:
        """Open a Parquet file as a lazy relation."""
        return read_parquet(Path(uri), self.connection)

    def sql(self, query: str, **relations: object) -> DuckDBPyRelation:
        """Join, count or filter relations of this engine, or Arrow tables."""
        for name, relation in relations.items():
            if isinstance(relation, DuckDBPyRelation):
                relation.create_view(name)
            else:
                self.connection.register(name, relation)
        return self.connection.sql(query)

    def group_map(  # noqa: PLR0913 - the interface of all engines, and two remarks
        self,
        relation: DuckDBPyRelation,
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
        *,
        ordered: bool = False,
        longest: int | None = None,
        what: str = "rows",
    ) -> pa.RecordBatchReader:
        """Hand whole groups to the function, sorted by key and order; results are in that order.

        `ordered`: the rows are in this order already, as those of a file that was written so.
        `longest`: the function itself takes a group of more rows as several of that many.
        """
        total = relation.aggregate("count(*)").fetchall()[0][0]
        lined = relation if ordered else relation.order(f"{key}, {order}")
        reader = lined.to_arrow_reader(BATCH)
        folder = Path(self._opened.enter_context(TemporaryDirectory(dir=self.folder)))
        chunks = cut_chunks(reader, reader.schema, key, self.rows, folder, longest=longest)
        results = self._each(partial(process_chunk, function), chunks, total)
        for each in (reader, chunks, results):  # whoever reads them may stop in the middle
            self._opened.callback(each.close)
        return reader_of_tables(schema, _counted(results, what, total))

    def write(self, relation: object, uri: str) -> int:
        """Write a relation, or what `group_map` returns, to a Parquet file.

        What a function raises comes through as it is: its text may quote data.
        """
        # A connection that streams does nothing else; a second one shares the memory.
        with self.connection.cursor() as cursor:
            return write_parquet(
                relation, Path(uri), connection=cursor, redact=False, level=FAST_LEVEL
            )

    def _each(
        self, work_on: Callable[[str], str], chunks: Iterator[Chunk], total: int
    ) -> Generator[tuple[pa.Table, int]]:
        """The result of each chunk, in order, and its rows; some more are under way."""
        pool = self._processes(total)
        under_way: deque[tuple[Chunk, Future[str] | None]] = deque()
        ahead = 1 if pool is None else AHEAD * self.workers
        for chunk in chunks:
            future = None if pool is None else pool.submit(work_on, str(chunk.path))
            under_way.append((chunk, future))
            if len(under_way) >= ahead:
                yield _finished(*under_way.popleft(), work_on)
        while under_way:
            yield _finished(*under_way.popleft(), work_on)

    def _processes(self, total: int) -> ProcessPoolExecutor | None:
        """A pool where there is enough to do; it is kept for what comes next."""
        if self.workers == 1 or total < self.enough:
            return None
        if self._pool is None:
            # Not forked: a copy of a process that has threads may find its locks held for ever.
            self._pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _alone)
        return self._pool


def _alone() -> None:
    """Begin a process: one core is all it has, and whoever started it also ends it."""
    signal(SIGINT, SIG_IGN)
    threadpool_limits(1, "blas")


def _finished(
    chunk: Chunk, future: Future[str] | None, work_on: Callable[[str], str]
) -> tuple[pa.Table, int]:
    made = work_on(str(chunk.path)) if future is None else future.result()
    chunk.path.unlink()
    return take_result(made), chunk.rows


def _counted(results: Iterator[tuple[pa.Table, int]], what: str, total: int) -> Iterator[pa.Table]:
    done = 0
    for table, rows in results:
        done += rows
        report_progress(what, done, total)
        yield table
