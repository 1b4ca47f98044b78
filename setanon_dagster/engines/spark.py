"""Engine on Apache Spark: SQL and maps over groups, on the cores of one machine or a cluster.

Guarantee:  the results are those of the embedded engine, whatever the number of partitions, cores,
            executors and repeated tasks: rows are partitioned by ranges of the key and sorted in
            each partition, Spark compares texts by their UTF-8 bytes as DuckDB does, and functions
            are those of the embedded engine. `group_map` counts rows and keys, and refuses a
            result of cut groups.
Complexity: `group_map` shuffles the rows once and stores its result on the disks of the executors.
            The driver receives one report per partition, and rows only if they are collected.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Self

import pyarrow as pa

from setanon_core.errors import SetanonError
from setanon_core.runtime.progress import report_progress
from setanon_dagster.engines.group_counts import GroupCheck, GroupCounts
from setanon_dagster.engines.protocol import GroupFunction, require_few
from setanon_dagster.engines.spark_files import merge_parts
from setanon_dagster.engines.spark_session import (
    ignore_pandas_warning,
    own_session,
    start_session,
    stop_session,
)
from setanon_dagster.engines.spark_tasks import (
    GroupTask,
    Report,
    run_group_task,
    run_numbering,
)
from setanon_dagster.engines.spark_types import (
    arrow_schema,
    decimals_as_integers,
    signed_table,
    spark_schema,
    view_as,
)
from setanon_dagster.storage.folders import private_folder
from setanon_dagster.storage.temporary import enter_temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHUNK_ROWS: Final = 100_000
"""Minimum rows per call of a function, except the last call of a partition."""

PARTITION_ROWS: Final = 1_000_000
"""Rows per partition of a large relation: memory of a worker, and the cost of a repeated task."""

MEMORY_LIMIT: Final = "1GB"
"""The default of a release: see `setanon_dagster/config.py`."""


class SparkEngine:
    """A Spark session; results do not depend on master, settings, partitions or `chunk_rows`."""

    def __init__(  # noqa: PLR0913 - all but the first have defaults
        self,
        folder: Path,
        *,
        master: str = "local[*]",
        settings: Mapping[str, str] | None = None,
        session: "SparkSession | None" = None,
        partitions: int | None = None,
        chunk_rows: int = CHUNK_ROWS,
        memory_limit: str = MEMORY_LIMIT,
    ) -> None:
        """Start a session, or use a given one, which is not stopped; use in a `with` statement.

        `folder`: private folder for temporary files; on a cluster, all workers must share it.
        `settings`: settings of Spark, by name, for a new session.
        `partitions`: partitions of a relation; None: from its number of rows and the cores.
        `memory_limit`: memory of DuckDB in this process, which merges the files of executors.
        """
        self.partitions, self.chunk_rows = partitions, chunk_rows
        self.memory_limit = memory_limit
        self._resources = ExitStack()
        self.folder = enter_temporary_folder(self._resources, private_folder(folder))
        try:
            if session is None:
                session = start_session(master, settings or {}, self.folder)
                self._resources.callback(stop_session, session)
            self.session = own_session(session)
        except BaseException:
            self._resources.close()
            raise

    def __enter__(self) -> Self:
        """Return the engine itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the session unless it was given; remove stored results and temporary files."""
        self._resources.close()

    def read(self, uri: str) -> "DataFrame":
        """Open a Parquet file, or a folder of them, where Spark finds it (`s3a:`, `hdfs:`)."""
        return decimals_as_integers(self.session.read.parquet(uri))

    def sql(self, query: str, **relations: object) -> "DataFrame":
        """Run a query over relations of this engine, or Arrow tables, by keyword name."""
        for name, relation in relations.items():
            self._frame(relation).createOrReplaceTempView(name)
        return self.session.sql(query)

    def group_map(  # noqa: PLR0913 - the interface of all engines
        self,
        relation: "DataFrame",
        key: str,
        order: str,
        function: GroupFunction,
        schema: pa.Schema,
        *,
        presorted: bool = False,  # noqa: ARG002 - Spark reads files in any order
        max_group_rows: int | None = None,
        step: str = "rows",
    ) -> "DataFrame":
        """Apply the function to complete groups now; the result is stored in key order.

        Raises `CutGroupError` if the rows counted before and in the calls are not complete groups.
        """
        from pyspark import StorageLevel

        total = relation.count()
        reports = self._new_reports()
        task = GroupTask(
            function,
            key,
            arrow_schema(relation.schema),
            schema,
            self.chunk_rows,
            max_group_rows,
        )
        arranged = self._arrange(relation, key, order, self._partitions_of(total))
        with ignore_pandas_warning():
            mapped = arranged.mapInArrow(
                partial(run_group_task, task=task, reports=reports), spark_schema(schema)
            )
        # Stored, because it is read more than once; a lost part is computed again.
        result = mapped.persist(StorageLevel.DISK_ONLY)
        self._resources.callback(result.unpersist)
        received = result.count()
        check_reports(reports.value, total, received)
        report_progress(step, total, total)
        return result

    def number_runs(self, relation: "DataFrame", column: str, position: str) -> "DataFrame":
        """Replace a column of a result of `group_map` by the number of the run, from 0.

        The driver receives the number of runs in each partition, and sends their sums.
        """
        from pyspark.sql import functions as f

        starts = f.count_if(f.col(position) == 0).cast("bigint")
        counted = relation.groupBy(f.spark_partition_id()).agg(starts).collect()
        before: dict[int, int] = {}
        total = 0
        for partition, runs in sorted(map(tuple, counted)):
            before[partition] = total
            total += runs
        number = partial(run_numbering, column=column, position=position, starts=before)
        with ignore_pandas_warning():
            return relation.mapInArrow(number, relation.schema)

    def collect(self, relation: "DataFrame", at_most: int) -> pa.Table:
        """All rows of a small relation; more than `at_most` are refused."""
        table = require_few(relation.limit(at_most + 1).toArrow(), at_most)
        return view_as(table, arrow_schema(relation.schema))

    def write(self, relation: object, uri: str) -> int:
        """Write a relation in its order; return the number of rows.

        A URI with a scheme, or a path that ends with `/`, becomes a folder of Parquet files that
        the executors write. Another path becomes one file with the bytes that the embedded engine
        writes: executors write parts into the engine's folder, and this process merges them.
        """
        frame = self._frame(relation)
        if ":" in uri.partition("/")[0] or uri.endswith("/"):
            frame.write.parquet(uri)
            return int(self.session.read.parquet(uri).count())
        schema = arrow_schema(frame.schema)
        parts = self.folder / token_hex(8)
        frame.write.parquet(str(parts))
        return merge_parts(parts, schema, Path(uri), self.memory_limit)

    def write_temporary(self, relation: object) -> tuple[Path, int]:
        """Write to a new file in the engine's folder; return its path and its number of rows."""
        path = self.folder / f"{token_hex(8)}.parquet"
        return path, self.write(relation, str(path))

    def _frame(self, relation: Any) -> "DataFrame":  # noqa: ANN401 - a DataFrame or an Arrow table
        if isinstance(relation, pa.RecordBatchReader):
            relation = relation.read_all()
        if not isinstance(relation, pa.Table):
            frame: DataFrame = relation
            return frame
        with ignore_pandas_warning():
            return self.session.createDataFrame(
                signed_table(relation), schema=spark_schema(relation.schema)
            )

    def _arrange(self, frame: "DataFrame", key: str, order: str, partitions: int) -> "DataFrame":
        """The rows in ranges of the key, each of which is one sorted partition."""
        from pyspark.sql import functions as f

        columns = [f.expr(f'"{key}"'), *map(_sort_column, order.split(","))]
        return frame.repartitionByRange(partitions, columns[0]).sortWithinPartitions(*columns)

    def _partitions_of(self, rows: int) -> int:
        if self.partitions is not None:
            return self.partitions
        cores = int(self.session.sparkContext.defaultParallelism)
        return max(cores, -(-rows // PARTITION_ROWS))

    def _new_reports(self) -> Any:  # noqa: ANN401 - an accumulator
        from pyspark.accumulators import AccumulatorParam

        class Reports(AccumulatorParam):  # type: ignore[misc] # no types without PySpark
            """Reports by partition: a repeated task replaces its report."""

            def zero(self, _: dict[int, Report]) -> dict[int, Report]:
                return {}

            def addInPlace(  # noqa: N802 - the name that PySpark calls
                self, reports: dict[int, Report], more: dict[int, Report]
            ) -> dict[int, Report]:
                return reports | more

        return self.session.sparkContext.accumulator({}, Reports())


def check_reports(reports: Mapping[int, Report], rows: int, received: int) -> GroupCounts:
    """Raise the error of a function, or `CutGroupError`; return the counts of all partitions."""
    check = GroupCheck()
    for partition in sorted(reports):
        report = reports[partition]
        if isinstance(report, SetanonError):
            raise report
        check.add(report)
    check.finish(rows, received)
    return check.total


def _sort_column(term: str) -> Any:  # noqa: ANN401 - a column
    from pyspark.sql import functions as f

    name, _, direction = term.strip().partition(" ")
    column = f.expr(f'"{name}"')
    return column.desc() if direction.upper() == "DESC" else column.asc()
