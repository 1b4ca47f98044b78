"""Threads and clusters on one engine: CPU time, shuffled bytes, and what the driver receives.

python bench/spark_stages.py RAW_LOG FOLDER MASTER [PARTITIONS]

RAW_LOG: the Parquet file of the stage `raw_log`. MASTER: a master URL of Spark, or `embedded`.
PARTITIONS: partitions of a relation on Spark; default: from its number of rows.
Prints the seconds of each stage to stderr, and counts as JSON to stdout.
"""

import json
import resource
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markdown_table import Row
from measure import KILOBYTES, PROC, peak_megabytes, run
from release_growth import K, stage_rows

from setanon_core.params import ReleaseParams
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.spark import SparkEngine
from setanon_dagster.stages.clusters import clusters_stream
from setanon_dagster.stages.threads import threads_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAGES = {"threads": threads_stream, "clusters": clusters_stream}
PARAMS = ReleaseParams(K, secret=b"made up for a benchmark")
MEBIBYTE = 1 << 20
TASK_METRICS = {
    "shuffled bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
    "shuffled rows": ("Shuffle Write Metrics", "Shuffle Records Written"),
    "result bytes": ("Result Size",),
}
"""Metrics of a task in Spark's event log; `result bytes` are those that the driver receives."""


def measure(raw: Path, folder: Path, master: str, partitions: int | None = None) -> Row:
    """Run both stages in a new process; CPU seconds and peak memory are those of all processes."""
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, __file__, str(raw), str(folder), master]
    result = run(command if partitions is None else [*command, str(partitions)])
    if result.failure:
        raise RuntimeError(result.failure)
    # Samples count Java, which is not a child of a process that waits for it.
    cpu = result.samples[-1].cpu if result.samples else result.cpu
    row: Row = {"engine": master, "CPU s": round(cpu, 1), "peak MB": round(result.peak)}
    for stage in stage_rows(result):
        row[f"{stage['stage']} CPU s"] = stage["CPU s"]
    counts: Row = json.loads(result.out)
    return row | counts


def main() -> None:
    """Run both stages once."""
    raw, folder, master = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    partitions = int(sys.argv[4]) if sys.argv[4:] else None
    events = folder / "events"
    events.mkdir(parents=True)
    counts: Row = {}
    with _timed("start"):
        engine = _open(folder, master, partitions, events)
    with engine:
        source = raw
        for name, stream in STAGES.items():
            target = folder / f"{name}.parquet"
            with _timed(name):
                rows = stream(engine, engine.read(source), PARAMS)
                before = _own_seconds()
                counts[f"{name} rows"] = engine.write(rows, str(target))
                counts[f"{name} merge CPU s"] = round(_own_seconds() - before, 1)
            source = str(target)
        if isinstance(engine, SparkEngine):
            counts |= _memory_of_java(engine.session)
    counts["driver Python MB"] = round(peak_megabytes())
    print(json.dumps(counts | sum_events(events)))


def sum_events(folder: Path) -> Row:
    """Sums over all tasks in the event logs of a folder, and the number of tasks and shuffles."""
    sums: Counter[str] = Counter()
    shuffles = set()
    for path in folder.rglob("*"):
        for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
            event: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if event.get("Event") != "SparkListenerTaskEnd" or not event.get("Task Metrics"):
                continue
            sums["tasks"] += 1
            for name, keys in TASK_METRICS.items():
                value: Any = event["Task Metrics"]
                for key in keys:
                    value = value[key]
                sums[name] += value
                if name == "shuffled bytes" and value:
                    shuffles.add(event["Stage ID"])
    return {**sums, "shuffles": len(shuffles)} if sums else {}


def _open(
    folder: Path, master: str, partitions: int | None, events: Path
) -> EmbeddedEngine | SparkEngine:
    if master == "embedded":
        return EmbeddedEngine(folder / "spill", workers=2, memory_limit="1GB")
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.executorEnv.PYTHONPATH": ":".join(filter(None, sys.path)),
    }
    return SparkEngine(folder / "spill", master=master, settings=settings, partitions=partitions)


def _memory_of_java(session: "SparkSession") -> Row:
    """Peak of the driver's Java process, and its heap after a garbage collection."""
    context = session.sparkContext
    status = (PROC / f"{context._gateway.proc.pid}/status").read_text()  # noqa: SLF001
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    java = context._jvm.java.lang  # noqa: SLF001 - no public name
    java.System.gc()
    runtime = java.Runtime.getRuntime()
    return {
        "driver Java MB": int(peak.split()[1]) // KILOBYTES,
        "driver heap MB": (runtime.totalMemory() - runtime.freeMemory()) // MEBIBYTE,
    }


def _own_seconds() -> float:
    """CPU seconds of this process, without its children."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def _timed(name: str) -> Iterator[None]:
    """Print the duration of a step as the command prints that of a stage."""
    start = time.perf_counter()
    yield
    print(f"{name}  {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
