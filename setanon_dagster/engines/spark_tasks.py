"""Functions that Spark runs in its Python workers, once per partition of a relation."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from setanon_core.errors import SetanonError
from setanon_dagster.engines.chunks import pieces_of_chunks
from setanon_dagster.engines.group_counts import GroupCheck, GroupCounts, count_groups
from setanon_dagster.engines.protocol import GroupFunction
from setanon_dagster.engines.run_numbers import number_runs
from setanon_dagster.engines.spark_types import signed_table, view_as

Report = GroupCounts | SetanonError
"""The counts of a partition, or the error of the function."""


class GroupTask(NamedTuple):
    """How a partition is mapped: the arguments of `group_map`, and the rows per call."""

    function: GroupFunction
    key: str
    rows_schema: pa.Schema
    result_schema: pa.Schema
    chunk_rows: int
    max_group_rows: int | None

    def run(
        self, batches: Iterator[pa.RecordBatch], reports: dict[int, Report], partition: int
    ) -> Iterator[pa.RecordBatch]:
        """Call the function with complete groups; store the counts of all calls in `reports`.

        An error of setanon is stored instead, and ends the partition: Spark would try again, and
        its own error would contain only text. Of other errors, only the class is raised, because
        Spark logs the message, which may contain data; Spark then tries again.
        """
        check = GroupCheck(self.max_group_rows)
        try:
            for table in self._chunks(batches):
                result = self.function(table)
                check.add(count_groups(table[self.key], len(result)))
                yield from signed_table(result.cast(self.result_schema)).to_batches()
            reports[partition] = check.total
        except SetanonError as error:
            reports[partition] = error
        except Exception as error:  # noqa: BLE001 - no message may get into the log of Spark
            raise WorkerError(type(error).__name__) from None

    def _chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
        """Tables of complete groups: the last group of a batch waits for the next batch."""
        pieces: list[pa.RecordBatch] = []
        for piece, is_last in pieces_of_chunks(
            batches, self.key, self.chunk_rows, self.max_group_rows
        ):
            pieces.append(piece)
            if is_last:
                yield self._table(pieces)
                pieces = []
        if any(map(len, pieces)):
            yield self._table(pieces)

    def _table(self, pieces: list[pa.RecordBatch]) -> pa.Table:
        return view_as(pa.Table.from_batches(pieces), self.rows_schema)


class WorkerError(RuntimeError):
    """A function failed in a worker; the message is the class of its error only."""


def run_group_task(
    batches: Iterator[pa.RecordBatch],
    task: GroupTask,
    reports: Any,  # noqa: ANN401 - an accumulator, or its double
) -> Iterator[pa.RecordBatch]:
    """Map one partition, and send its report to the driver."""
    partition = _partition()
    report: dict[int, Report] = {}
    yield from task.run(batches, report, partition)
    reports.add(report)


def run_numbering(
    batches: Iterator[pa.RecordBatch], column: str, position: str, starts: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Number the runs of one partition from its start."""
    start = starts.get(_partition(), 0)
    for table in number_runs(batches, column, position, start):
        yield from table.to_batches()


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise RuntimeError("a task must run in a worker of Spark.")
    return int(context.partitionId())
