"""Time and memory of `setanon release` for logs of growing size, with DuckDB's sort as reference.

Each measurement is a command in a new process. Seconds of the stages are those that the command
prints; CPU and memory are those of all its processes during the stage. A failure becomes a row.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log as logarithm
from pathlib import Path

from duckdb_sort import sort_log, sort_seconds
from markdown_table import Row
from measure import Run, run
from verification import compare

from setanon_dagster.demo.log import write_demo_log

QUERIES_PER_USER = 31
"""About as many as in three months of a search engine."""

K = 3
STAGE = re.compile(r"(?P<name>.*?\S)\s+(?P<seconds>\d+\.\d) s(?:\s|$)")
CHECKS = "checks"
"""Name that the command prints for the checks of the stage before."""

GROWING = ("seconds", "without checks", "CPU s", "peak MB")


@dataclass(frozen=True, slots=True)
class ReleaseSettings:
    """How releases are run, and where."""

    folder: Path
    workers: int = 2
    timeout: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class MeasuredRelease:
    """A release made by the command: its measurements and its published folder."""

    run: Run
    stages: list[Row]
    certificate: dict[str, object]
    folder: Path

    @property
    def seconds_without_checks(self) -> float:
        """Seconds of the stages and the gate, without startup and checks."""
        return sum(float(str(row["seconds"])) for row in self.stages if not _is_check(row))


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows for one size: the complete run, its stages, and the verification."""

    end_to_end: Row
    stages: list[Row]
    verification: list[Row]


def release(source: Path, settings: ReleaseSettings, *options: str) -> MeasuredRelease:
    """Run `setanon release` on a file, into a new folder."""
    out = settings.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "setanon_dagster.cli", "release", str(source)]
    command += ["--k", str(K), "--out", str(out), "--workers", str(settings.workers), *options]
    result = run(command, settings.timeout)
    folder = out / "releases" / "log" / "latest"
    path = out / "private" / folder.resolve().name / "certificate.json"
    certificate = json.loads(path.read_text("utf-8")) if result.code == 0 else {}
    return MeasuredRelease(result, list(stage_rows(result)), certificate, folder.resolve())


def stage_rows(result: Run) -> Iterator[Row]:
    """The stages that the command printed, with CPU and memory during each."""
    stage = ""
    for moment, line in result.lines:
        if (match := STAGE.match(line.strip())) is None:
            continue
        # The line of the checks follows that of their stage.
        is_check = match["name"] == CHECKS
        stage = stage if is_check else match["name"]
        duration = float(match["seconds"])
        row: Row = {"stage": f"{stage}: checks" if is_check else stage, "seconds": duration}
        if result.samples:
            cpu, peak = result.between(moment - duration, moment)
            row |= {"CPU s": round(cpu, 1), "peak MB": round(peak)}
        yield row


def measure_growth(
    sizes: Sequence[int], settings: ReleaseSettings
) -> Iterator[tuple[str, list[Row]]]:
    """Yield tables, each again with more rows after each size."""
    end_to_end: list[Row] = []
    stages: list[Row] = []
    growth: list[Row] = []
    verification: list[Row] = []
    for size in sizes:
        try:
            tables = measure_size(size, settings)
        except Exception as error:  # noqa: BLE001 - the other sizes must run
            tables = Tables({"queries": size, "failed": type(error).__name__}, [], [])
        row = tables.end_to_end
        before = next((each for each in reversed(end_to_end) if "seconds" in each), None)
        end_to_end.append(row)
        yield "End to end", end_to_end
        if before is not None and "seconds" in row:
            growth.append(
                {"queries": f"{before['queries']:,} to {size:,}"}
                | {name: exponent(before, row, name) for name in GROWING}
            )
            yield "End to end: growth exponents", growth
        stages += [{"queries": size, **stage} for stage in tables.stages]
        _add_exponents(stages)
        if tables.stages:
            yield "Stage by stage", stages
        if tables.verification:
            verification += tables.verification
            yield "Verification compared with DuckDB", verification


def _add_exponents(stages: list[Row]) -> None:
    last: dict[object, Row] = {}
    for row in stages:
        if (before := last.get(row["stage"])) is not None:
            row["exponent"] = exponent(before, row, "seconds")
        last[row["stage"]] = row


def measure_size(size: int, settings: ReleaseSettings) -> Tables:
    """Measure DuckDB's sort, the release and its verification on a log of `size` queries."""
    users = max(size // QUERIES_PER_USER, 1)
    row: Row = {"queries": size, "users": users}
    source = settings.folder / f"log-{size}.tsv"
    write_demo_log(source, users, size, settings.seed)
    sort = sort_log(source, settings.folder, settings.workers, settings.timeout)
    measured = release(source, settings)
    source.unlink()
    if not sort.failure:
        row |= {"DuckDB s": round(sort_seconds(sort), 3), "DuckDB peak MB": round(sort.peak)}
    if measured.run.failure:
        return Tables(row | {"failed": measured.run.failure}, measured.stages, [])
    row |= release_row(measured)
    if not sort.failure:
        without_checks = measured.seconds_without_checks
        row |= {
            "x DuckDB": round(measured.run.wall / sort_seconds(sort), 1),
            "without checks x DuckDB": round(without_checks / sort_seconds(sort), 1),
        }
    verification = [{"queries": size, **each} for each in verification_rows(measured)]
    stages = [*measured.stages, overhead_row(measured)]
    return Tables(row | {"failed": sort.failure}, stages, verification)


def overhead_row(measured: MeasuredRelease) -> Row:
    """Time outside the stages: the start of Python and Dagster, and between stages."""
    row: Row = {"stage": "start and between stages"}
    for name, total in (("seconds", measured.run.wall), ("CPU s", measured.run.cpu)):
        if all(name in stage for stage in measured.stages):
            in_stages = sum(float(str(stage[name])) for stage in measured.stages)
            row[name] = round(max(total - in_stages, 0), 1)
    return row


def verification_rows(measured: MeasuredRelease) -> list[Row]:
    """Time of the verification of the published file, compared with DuckDB."""
    try:
        return list(compare(measured.folder, K))
    except Exception as error:  # noqa: BLE001 - keep what was measured before
        return [{"failed": type(error).__name__}]


def release_row(measured: MeasuredRelease) -> Row:
    """Measurements and cost of a release."""
    cost, verdict = measured.certificate["cost"], measured.certificate["verdict"]
    assert isinstance(cost, dict)  # noqa: S101 - guaranteed by the schema of certificates
    assert isinstance(verdict, dict)  # noqa: S101
    return {
        "threads": cost["threads"],
        "seconds": round(measured.run.wall, 1),
        "without checks": round(measured.seconds_without_checks, 1),
        "CPU s": round(measured.run.cpu, 1),
        "peak MB": round(measured.run.peak),
        "retained": round(cost["retained"], 3),
        "factor": round(cost["factor"] or float("nan"), 3),
        "violations": verdict["violations"],
    }


def exponent(before: Row, after: Row, name: str) -> float | str:
    """Growth exponent with the number of queries: 1 is proportional; empty if undefined."""
    sizes = float(str(after["queries"])) / float(str(before["queries"]))
    old, new = float(str(before[name])), float(str(after[name]))
    if sizes <= 1 or not (old > 0 and new > 0):
        return ""
    return round(logarithm(new / old) / logarithm(sizes), 2)


def _is_check(row: Row) -> bool:
    return str(row["stage"]).endswith(": checks")
