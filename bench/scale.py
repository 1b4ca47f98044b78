"""Predict CPU time, shuffle volume and memory for large logs from costs measured at two sizes.

python bench/scale.py [--measure QUERIES QUERIES] [--paste docs/scale.md]

The measured numbers are in bench/scale_inputs.json; `--measure` renews them. A cost is a fixed part
plus a part per query, both from the two measured sizes.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_table import Row, table
from spark_plan import driver_heap, spark_plan

INPUTS = Path(__file__).with_name("scale_inputs.json")
SIZES = (20_000_000, 2_000_000_000, 200_000_000_000)
ON_SPARK = ("threads", "clusters")
GROUPING, START, TOTAL = "anonymize", "start", "total"

MEMORY_LIMIT = 1_000_000_000
"""Memory of DuckDB in the driver: a quarter of the default of `memory_limit`."""

Inputs = Mapping[str, Any]
"""The measured numbers, as in the JSON file."""


@dataclass(frozen=True, slots=True)
class Line:
    """A cost that grows with the number of queries."""

    fixed: float
    per_query: float

    def at(self, queries: float) -> float:
        """The cost for so many queries."""
        return self.fixed + self.per_query * queries


def fit(points: Sequence[tuple[float, float]]) -> Line:
    """The line through two points (queries, cost); the fixed part is at least 0.

    >>> fit([(1, 5), (3, 9)])
    Line(fixed=3.0, per_query=2.0)
    >>> fit([(1, 1), (3, 9)])
    Line(fixed=0.0, per_query=3.0)
    """
    (n, low), (m, high) = points
    slope = (high - low) / (m - n)
    fixed = low - slope * n
    return Line(fixed, slope) if fixed >= 0 else Line(0.0, high / m)


def cpu_lines(runs: Sequence[Inputs]) -> dict[str, Line]:
    """CPU seconds of each stage of a release on the embedded engine; the start is fixed."""
    lines = {
        stage: fit([(run["queries"], run["CPU s"][stage]) for run in runs])
        for stage in runs[0]["CPU s"]
    }
    if START in lines:
        lines[START] = Line(max(run["CPU s"][START] for run in runs), 0.0)
    return lines


def grouping_memory(runs: Sequence[Inputs]) -> Line:
    """Peak megabytes while threads are grouped; DuckDB's limit bounds those of other stages."""
    return fit([(run["queries"], run["peak MB"][GROUPING]) for run in runs])


def fit_runs(inputs: Inputs, cost: Callable[[Mapping[str, float]], float]) -> Line:
    """A cost of the two runs on Spark, as a line."""
    return fit([(run["queries"], cost(run)) for run in inputs["spark"]])


def measured_table(inputs: Inputs) -> list[Row]:
    """CPU time and peak memory of each stage at the measured sizes, and the CPU time per query."""
    runs = inputs["release"]
    rows = []
    for stage, line in cpu_lines(runs).items():
        row: Row = {"stage": stage}
        for name in ("CPU s", "peak MB"):
            row |= {f"{_short(run['queries'])}: {name}": run[name].get(stage, "") for run in runs}
        row["fixed CPU s"] = round(line.fixed, 1)
        row["CPU µs per query"] = round(line.per_query * 1e6, 2)
        rows.append(row)
    return rows


def spark_table(inputs: Inputs) -> list[Row]:
    """The runs on Spark, beside the embedded engine."""
    rows: list[Row] = []
    for run, embedded in zip(inputs["spark"], inputs["embedded"], strict=True):
        queries = run["queries"]
        stages = {f"{stage} CPU s": run[f"{stage} CPU s"] for stage in ON_SPARK}
        beside = sum(embedded[f"{stage} CPU s"] for stage in ON_SPARK)
        rows.append(
            {"queries": queries, "start CPU s": run["start CPU s"]}
            | stages
            | {
                "both, embedded": round(beside, 1),
                "Spark / embedded": round(sum(stages.values()) / beside, 1),
                "shuffled bytes per query": round(run["shuffled bytes"] / queries, 1),
                "tasks": run["tasks"],
                "CPU s of the driver to merge files": run["threads merge CPU s"]
                + run["clusters merge CPU s"],
                "driver: Java heap MB": run["driver heap MB"],
            }
        )
    return rows


def merge_table(inputs: Inputs) -> list[Row]:
    """CPU time and memory of the driver that merges files."""
    return [
        run | {"CPU µs per row": round(run["CPU s"] / run["rows"] * 1e6, 2)}
        for run in inputs["merge"]
    ]


def check_table(inputs: Inputs) -> list[Row]:
    """Predictions compared with larger runs; `from`: the runs that predict, if they are others."""
    rows: list[Row] = []
    for run in inputs["checked"]:
        queries, smaller = run["queries"], run.get("from", inputs["release"])
        seconds = {stage: line.at(queries) for stage, line in cpu_lines(smaller).items()}
        seconds.setdefault(TOTAL, sum(seconds[each] for each in run["CPU s"] if each != TOTAL))
        for stage, measured in run["CPU s"].items():
            rows.append(_compared(run["name"], f"{stage}, CPU s", seconds[stage], measured))
    return rows


def _compared(name: str, what: str, predicted: float, measured: float) -> Row:
    error = f"{100 * (predicted / measured - 1):+.0f} %"
    shown = {"predicted": round(predicted), "measured": round(measured), "error": error}
    return {"run": name, "cost": what} | shown


def prediction_table(inputs: Inputs) -> list[Row]:
    """One row per cost, one column per size."""
    # Larger logs are grouped place by place, with other columns than smaller ones.
    cpu, memory = cpu_lines(inputs["release"]), grouping_memory(inputs["places"])
    on_spark = fit_runs(inputs, lambda run: sum(run[f"{stage} CPU s"] for stage in ON_SPARK))
    shuffled = fit_runs(inputs, lambda run: run["shuffled bytes"])
    merge = fit_runs(inputs, lambda run: sum(run[f"{stage} merge CPU s"] for stage in ON_SPARK))
    python = MEMORY_LIMIT + min(run["peak MB"] for run in inputs["merge"]) * (1 << 20)
    file_bytes = sum(inputs["file bytes per query"].values())
    rows: dict[str, Row] = {}

    def add(name: str, queries: int, value: str) -> None:
        rows.setdefault(name, {"cost": name})[_short(queries)] = value

    for n in SIZES:
        plan = spark_plan(inputs, n)
        for stage, line in cpu.items():
            add(f"{stage}: CPU time", n, duration(line.at(n)))
        add("all stages: CPU time", n, duration(sum(line.at(n) for line in cpu.values())))
        add("grouping: memory of all processes", n, size(memory.at(n) * (1 << 20)))
        add("files of stages and release", n, size(file_bytes * n))
        add("Spark, both stages: CPU time", n, duration(on_spark.at(n)))
        add("Spark, both stages: shuffled", n, size(shuffled.at(n)))
        add("Spark: partitions of a stage", n, f"{plan.partitions:,}")
        add("Spark: tasks", n, f"{plan.tasks:,}")
        add("Spark: blocks of a shuffle", n, f"{plan.blocks:,}")
        add("Spark: bytes per block", n, f"{shuffled.at(n) / len(ON_SPARK) / plan.blocks:,.0f}")
        add("driver: CPU time to merge files", n, duration(merge.at(n)))
        add("driver: Java heap", n, size(driver_heap(inputs, plan)))
        add("driver: Python, at most", n, size(python))
    return list(rows.values())


def duration(seconds: float) -> str:
    """Seconds, hours or days, with about two digits.

    >>> duration(99.6), duration(4000), duration(400_000)
    ('100 s', '1.1 h', '4.6 days')
    """
    for unit, length in (("days", 86_400), ("h", 3_600)):
        if seconds >= length:
            return f"{_digits(seconds / length)} {unit}"
    return f"{_digits(seconds)} s"


def size(count: float) -> str:
    """Bytes as MB, GB or TB (powers of 1000), with about two digits.

    >>> size(4_790_000_000), size(123_456_789)
    ('4.8 GB', '123 MB')
    """
    for unit, length in (("TB", 1e12), ("GB", 1e9)):
        if count >= length:
            return f"{_digits(count / length)} {unit}"
    return f"{_digits(count / 1e6)} MB"


def _digits(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"  # noqa: PLR2004 - two digits


def _short(queries: int) -> str:
    """400K, 20M, 2B."""
    for unit, length in (("B", 10**9), ("M", 10**6)):
        if queries >= length:
            return f"{queries // length}{unit}"
    return f"{queries // 1000}K"


TABLES: Mapping[str, Callable[[Inputs], list[Row]]] = {
    "predicted": prediction_table,
    "measured": measured_table,
    "Spark": spark_table,
    "merge": merge_table,
    "checked": check_table,
}


def updated(text: str) -> str:
    """The text of the page with new tables between its markers."""
    inputs = json.loads(INPUTS.read_text("utf-8"))
    for name, build in TABLES.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n\n{table(build(inputs))}\n\n{end}{after}"
    return text


def main() -> None:
    """Measure if asked, then print the tables or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, nargs=2, help="queries of the two logs")
    parser.add_argument("--paste", type=Path, help="page whose tables are replaced")
    args = parser.parse_args()
    if args.measure:
        from scale_inputs import measure_inputs

        inputs = json.loads(INPUTS.read_text("utf-8")) | measure_inputs(args.measure)
        INPUTS.write_text(json.dumps(inputs, indent=1) + "\n", "utf-8")
    if args.paste:
        args.paste.write_text(updated(args.paste.read_text("utf-8")), "utf-8")
    else:
        inputs = json.loads(INPUTS.read_text("utf-8"))
        for name, build in TABLES.items():
            print(f"{name}\n\n{table(build(inputs))}\n")


if __name__ == "__main__":
    main()
