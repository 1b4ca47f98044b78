"""Measure what `scale.py` predicts from: a release by stage, and two stages on Spark."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_table import Row
from release_growth import (
    CHECKS,
    QUERIES_PER_USER,
    MeasuredRelease,
    ReleaseSettings,
    release,
)
from spark_merge import measure_merge
from spark_stages import measure

from setanon_dagster.demo.log import write_demo_log

NAMES = {
    "raw_log": "read",
    "threads": "threads",
    "clusters": "clusters",
    "anonymized_threads": "anonymize",
    "release": "gate and report",
}
"""Stages as the command prints them, and their names in the tables."""

MASTER = "local[2]"
PARTITIONS = 200
"""Partitions of the smaller log in one more run, to measure the memory of the driver per task."""

COPIES = (1, 12)
"""Files of `threads` that the driver merges: its memory must not grow with their number."""


def measure_inputs(sizes: Sequence[int]) -> dict[str, Any]:
    """Measure both sizes, the smaller first; takes minutes, and much memory on Spark."""
    runs: dict[str, Any] = {"release": [], "embedded": [], "spark": [], "spark tasks": []}
    for queries in sorted(sizes):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log = folder / "log.tsv"
            write_demo_log(log, max(queries // QUERIES_PER_USER, 1), queries)
            released = release(log, ReleaseSettings(folder), "--memory-limit", "4GB")
            if released.run.failure:
                raise RuntimeError(released.run.failure)
            runs["release"].append({"queries": queries} | release_costs(released))
            runs["file bytes per query"] = file_bytes(folder / "out", queries)
            raw = next((folder / "out" / "private" / "stages").glob("*/raw_log/all.parquet"))
            for kind, master in (("embedded", "embedded"), ("spark", MASTER)):
                row = measure(raw, folder / "stages", master)
                runs[kind].append({"queries": queries} | row)
            if not runs["spark tasks"]:
                many = measure(raw, folder / "stages", MASTER, PARTITIONS)
                runs["spark tasks"] = [runs["spark"][0], {"queries": queries} | many]
            threads = raw.parents[1] / "threads" / "all.parquet"
            runs["merge"] = [measure_merge(threads, copies) for copies in COPIES]
    return runs


def release_costs(released: MeasuredRelease) -> dict[str, Row]:
    """CPU seconds and peak megabytes by stage; the checks of all stages are one."""
    cpu: dict[str, float] = dict.fromkeys((*NAMES.values(), CHECKS), 0.0)
    peak: dict[str, float] = dict(cpu)
    for row in released.stages:
        stage = str(row["stage"])
        name = CHECKS if stage.endswith(CHECKS) else NAMES[stage]
        cpu[name] += float(str(row["CPU s"]))
        peak[name] = max(peak[name], float(str(row["peak MB"])))
    cpu["start"] = max(released.run.cpu - sum(cpu.values()), 0)
    return {
        "CPU s": {name: round(value, 1) for name, value in cpu.items()},
        "peak MB": {name: round(value) for name, value in peak.items()},
    }


def file_bytes(out: Path, queries: int) -> dict[str, float]:
    """Bytes per query of the file of each stage, and of the release."""
    files = {path.parent.name: path for path in (out / "private" / "stages").rglob("all.parquet")}
    files["release"] = out / "releases" / "log" / "latest" / "threads.parquet"
    return {name: round(path.stat().st_size / queries, 2) for name, path in sorted(files.items())}
