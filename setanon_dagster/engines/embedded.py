"""Single-machine engine: DuckDB for out-of-core SQL, a process pool for Python functions.

Complexity: memory is DuckDB's limit plus one chunk per process; time is one sort, then the
            functions on all cores. Chunks are cut from one sorted stream by row count, so that
            no process waits for an unusually large bucket. (One query per bucket of users is as
            fast with as many buckets as cores, but such buckets do not fit into memory; with
            more buckets, each query reads the file again.)
            A group is never cut: it is one file, mapped by the process that works on it, while
            the other processes continue, up to `CHUNKS_PER_PROCESS` chunks ahead each. A function
            that accepts parts of a group sets `max_group_rows`: long sessions are split, which
            bounds the length of a thread.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Final, Self

import pyarrow as pa
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from setanon_core.runtime.executor import use_executor
from setanon_core.runtime.progress import report_progress
from setanon_dagster.engines.chunks import Result, cut_chunks, process_chunk, take_result
from setanon_dagster.engines.group_counts import GroupCheck
from setanon_dagster.engines.process_pool import PoolExecutor, map_bounded, start_processes
from setanon_dagster.engines.protocol import GroupFunction, require_few
from setanon_dagster.engines.run_numbers import number_runs
from setanon_dagster.storage.batches import reader_of_tables
from setanon_dagster.storage.connection import connect
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.parquet import read_parquet, write_parquet
from setanon_dagster.storage.temporary import enter_temporary_folder

CHUNK_ROWS: Final = 100_000
"""Minimum rows per chunk: enough for columnar work, few enough for several in memory."""

BATCH_ROWS: Final = 61_440
"""Rows per batch read from DuckDB."""

CHUNKS_PER_PROCESS: Final = 4
"""Chunks per process that are cut in advance."""

MIN_PARALLEL_ROWS: Final = 1_000_000
"""Rows below which starting processes takes longer than they save."""


class EmbeddedEngine:
    """DuckDB and a process pool; results do not depend on `workers` or `chunk_rows`."""

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 1,
        memory_limit: str | None = None,
        chunk_rows: int = CHUNK_ROWS,
        min_parallel_rows: int = MIN_PARALLEL_ROWS,
    ) -> None:
        """Spill into a temporary folder inside this private folder; use in a `with` statement."""
        self.workers, self.chunk_rows = workers, chunk_rows
        self.min_parallel_rows = min_parallel_rows
        self._resources = ExitStack()
        self.folder = enter_temporary_folder(self._resources, private_folder(folder))
        self.connection: DuckDBPyConnection = self._resources.enter_context(
            connect(memory_limit, temp_folder=self.folder)
        )
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the processes, close the connection and remove temporary files."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._resources.close()

    def read(self, uri: str) -> DuckDBPyRelation:
        """Open a Parquet file as a lazy relation."""
        return read_parquet(Path(uri), self.connection)

    def sql(self, query: str, **relations: object) -> DuckDBPyRelation:
        """Run a query over relations of this engine, or Arrow tables, by keyword name."""
        for name, relation in relations.items():
            if isinstance(relation, DuckDBPyRelation):
                relation.create_view(name)
            else:
                self.connection.register(name, relation)
        return self.connection.sql(query)

    def group_map(  # noqa: PLR0913 - the interface of all engines, and three options
        self,
        relation: DuckDBPyRelation,
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
        *,
        presorted: bool = False,
        max_group_rows: int | None = None,
        step: str = "rows",
    ) -> pa.RecordBatchReader:
        """Apply the function to complete groups, sorted by key and order; results in that order.

        Raises `CutGroupError` if the rows counted before and in the calls are not complete groups.
        `presorted`: the rows are stored in this order already.
        `max_group_rows`: the function treats a longer group as several groups of that many rows.
        `step`: the name under which progress is reported.
        """
        total = relation.aggregate("count(*)").fetchall()[0][0]
        ordered = relation if presorted else relation.order(f"{key}, {order}")
        reader = ordered.to_arrow_reader(BATCH_ROWS)
        folder = enter_temporary_folder(self._resources, self.folder)
        chunks = cut_chunks(
            reader, reader.schema, key, self.chunk_rows, folder, max_group_rows=max_group_rows
        )
        results = map_bounded(
            self._pool_for(total),
            partial(process_chunk, function, key),
            chunks,
            CHUNKS_PER_PROCESS * self.workers,
        )
        for stream in (reader, chunks, results):  # the caller may stop reading early
            self._resources.callback(stream.close)
        check = GroupCheck(max_group_rows)
        return reader_of_tables(schema, _take_results(results, check, step, total))

    def number_runs(
        self, relation: pa.RecordBatchReader, column: str, position: str
    ) -> pa.RecordBatchReader:
        """Replace a column by the number of the run, from 0; a run starts where `position` is 0."""
        return reader_of_tables(relation.schema, number_runs(relation, column, position))

    def collect(self, relation: DuckDBPyRelation, at_most: int) -> pa.Table:
        """All rows of a small relation; more than `at_most` are refused."""
        return require_few(relation.limit(at_most + 1).to_arrow_table(), at_most)

    def write(self, relation: object, uri: str) -> int:
        """Write a relation, or a result of `group_map`, to a Parquet file.

        Errors of the mapped function are raised unchanged; their text may contain data.
        """
        # A streaming connection is busy; a second cursor shares its memory.
        with self.connection.cursor() as cursor:
            return write_parquet(relation, Path(uri), connection=cursor, redact=False)

    def write_temporary(self, relation: object) -> tuple[Path, int]:
        """Write to a new file in the engine's folder; return its path and its number of rows."""
        path = self.folder / f"{token_hex(8)}.parquet"
        return path, self.write(relation, str(path))

    @contextmanager
    def use_pool(self, rows: int) -> Iterator[None]:
        """Let the core run its independent calls in the pool, unless there are too few rows."""
        pool = self._pool_for(rows)
        if pool is None:
            yield
            return
        with use_executor(PoolExecutor(pool, self.workers)):
            yield

    def _pool_for(self, rows: int) -> ProcessPoolExecutor | None:
        """The pool, or None if there are too few rows; it is started once."""
        if self.workers == 1 or rows < self.min_parallel_rows:
            return None
        if self._pool is None:
            self._pool = start_processes(self.workers, ignore_interrupts=True)
        return self._pool


def _take_results(
    results: Iterable[Result], check: GroupCheck, step: str, total: int
) -> Iterator[pa.Table]:
    received = 0
    for result in results:
        table = take_result(result)
        check.add(result.counts)
        received += len(table)
        report_progress(step, check.total.rows, total)
        yield table
    check.finish(total, received)
