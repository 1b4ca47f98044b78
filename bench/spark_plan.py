"""Tasks, shuffles and driver memory of the stages on Spark, computed for a number of queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

PARTITION_ROWS = 1_000_000
"""Rows per partition of `setanon_dagster/engines/spark.py`."""

SPLIT_BYTES = 128 << 20
"""Bytes of a file that one task of Spark reads, by its default settings."""

SAMPLES_PER_PARTITION, MAX_SAMPLES, OVERSAMPLING = 100, 1_000_000, 3
"""Keys that the driver receives to choose ranges, by the default settings of Spark."""

SAMPLE_BYTES = 100
"""Memory of such a key in Java: objects, text and weight. Assumed, not measured."""

MAX_RETAINED_TASKS = 100_000
"""Tasks about which the driver keeps metrics, by the default settings of Spark."""

EXACT_PARTITIONS = 2_000
"""Up to so many partitions the driver stores a byte per block, beyond at most a bit."""

CORES = 2
"""Cores of the machine that was measured: partitions and splits of a small relation."""


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """Tasks and shuffles of both stages on Spark for a number of queries."""

    splits: int
    """Tasks that read the file of a stage."""

    partitions: int

    @property
    def tasks(self) -> int:
        """Tasks of all jobs.

        Each of both stages reads its file for a count, a sample and the shuffle, and runs its
        partitions for the result and the file; `threads` runs them once more for its numbers.
        """
        return 6 * self.splits + 5 * self.partitions

    @property
    def blocks(self) -> int:
        """Blocks of one shuffle: each reading task writes one per partition."""
        return self.splits * self.partitions

    @property
    def samples(self) -> int:
        """Keys that the driver receives to choose the ranges of the partitions."""
        return OVERSAMPLING * min(SAMPLES_PER_PARTITION * self.partitions, MAX_SAMPLES)


def spark_plan(inputs: Mapping[str, Any], queries: int) -> SparkPlan:
    """The plan with Spark's default settings."""
    file_bytes = inputs["file bytes per query"]["raw_log"] * queries
    return SparkPlan(
        max(CORES, ceil(file_bytes / SPLIT_BYTES)), max(CORES, ceil(queries / PARTITION_ROWS))
    )


def driver_heap(inputs: Mapping[str, Any], plan: SparkPlan) -> float:
    """Bytes of the driver's Java heap: measured per task, and computed for sample and blocks."""
    few, many = inputs["spark tasks"]
    per_task = (many["driver heap MB"] - few["driver heap MB"]) / (many["tasks"] - few["tasks"])
    retained = min(plan.tasks, MAX_RETAINED_TASKS) * max(per_task, 0)
    block_bytes = 1 if plan.partitions <= EXACT_PARTITIONS else 1 / 8
    megabytes = few["driver heap MB"] + retained
    return megabytes * (1 << 20) + SAMPLE_BYTES * plan.samples + block_bytes * plan.blocks
