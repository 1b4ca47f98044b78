"""A release from end to end, as a user runs it, for logs of growing size; DuckDB's floor beside it.

Each is a command in a fresh process. Seconds of the stages are those that the command tells, CPU
and memory are those that all of its processes had meanwhile. What fails is a row like any other.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log as logarithm
from pathlib import Path

from floor import floor, took
from measure import Run, run

from setanon_dagster.demo.log import write_demo_log

Row = dict[str, object]

PER_USER = 31
"""Queries of a user: about as many as three months of a search engine have."""

K = 3
STAGE = re.compile(r"(?P<name>.*?\S)\s+(?P<seconds>\d+\.\d) s(?:\s|$)")
CHECKS = "checks"
GROWING = ("seconds", "without checks", "CPU s", "peak MB")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a release is run with, and where."""

    folder: Path
    workers: int = 2
    timeout: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Released:
    """A release as a command: what it took, and what is told of it."""

    run: Run
    stages: list[Row]
    certificate: dict[str, object]
    folder: Path

    @property
    def unchecked(self) -> float:
        """Seconds of the stages and the gate, without the start and the checks between them."""
        return sum(float(str(row["seconds"])) for row in self.stages if not _is_check(row))


def release(source: Path, asked: Asked, *options: str) -> Released:
    """Run `setanon release` on a file, in a folder of its own."""
    out = asked.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "setanon_dagster.cli", "release", str(source)]
    command += ["--k", str(K), "--out", str(out), "--workers", str(asked.workers), *options]
    done = run(command, asked.timeout)
    folder = out / "releases" / "latest"
    certificate = folder / "certificate.json"
    told = json.loads(certificate.read_text("utf-8")) if done.code == 0 else {}
    return Released(done, list(stages(done)), told, folder.resolve())


def stages(done: Run) -> Iterator[Row]:
    """The stages that the command told of, with CPU and memory of that time."""
    name = ""
    for moment, line in done.lines:
        if (match := STAGE.match(line.strip())) is None:
            continue
        # Checks follow what they check.
        check = match["name"] == CHECKS
        name = name if check else match["name"]
        length = float(match["seconds"])
        row: Row = {"stage": f"{name}: checks" if check else name, "seconds": length}
        if done.looks:
            cpu, peak = done.between(moment - length, moment)
            row |= {"CPU s": round(cpu, 1), "peak MB": round(peak)}
        yield row


def grow(sizes: Sequence[int], asked: Asked) -> Iterator[tuple[str, list[Row]]]:
    """Tables that get longer with each size: the whole, its stages, how it grows, who verifies."""
    whole: list[Row] = []
    parts: list[Row] = []
    growth: list[Row] = []
    judges: list[Row] = []
    for size in sizes:
        try:
            row, own, verified = measured(size, asked)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sizes shall run
            row, own, verified = {"queries": size, "failed": type(error).__name__}, [], []
        before = next((each for each in reversed(whole) if "seconds" in each), None)
        whole.append(row)
        yield "From end to end", whole
        if before is not None and "seconds" in row:
            growth.append(
                {"queries": f"{before['queries']:,} to {size:,}"}
                | {name: exponent(before, row, name) for name in GROWING}
            )
            yield "From end to end: growth exponents", growth
        parts += [{"queries": size, **stage} for stage in own]
        _add_exponents(parts)
        if own:
            yield "Stage by stage", parts
        if verified:
            judges += verified
            yield "Verification beside DuckDB", judges


def _add_exponents(parts: list[Row]) -> None:
    last: dict[object, Row] = {}
    for row in parts:
        if (before := last.get(row["stage"])) is not None:
            row["exponent"] = exponent(before, row, "seconds")
        last[row["stage"]] = row


def measured(size: int, asked: Asked) -> tuple[Row, list[Row], list[Row]]:
    """A log of so many queries: the floor and the release, or why there is none; stages; judges."""
    users = max(size // PER_USER, 1)
    row: Row = {"queries": size, "users": users}
    source = asked.folder / f"log-{size}.tsv"
    write_demo_log(source, users, size, asked.seed)
    base = floor(source, asked.folder, asked.workers, asked.timeout)
    done = release(source, asked)
    source.unlink()
    if not base.failure:
        row |= {"DuckDB s": round(took(base), 3), "DuckDB peak MB": round(base.peak)}
    if done.run.failure:
        return row | {"failed": done.run.failure}, done.stages, []
    row |= told(done)
    if not base.failure:
        row |= {
            "x DuckDB": round(done.run.wall / took(base), 1),
            "without checks x DuckDB": round(done.unchecked / took(base), 1),
        }
    judges = [{"queries": size, **each} for each in verified(done)]
    return row | {"failed": base.failure}, [*done.stages, rest(done)], judges


def rest(done: Released) -> Row:
    """What no stage tells of: the start of the process, of Dagster, and what is between stages."""
    row: Row = {"stage": "start and between"}
    for name, whole in (("seconds", done.run.wall), ("CPU s", done.run.cpu)):
        if all(name in stage for stage in done.stages):
            told = sum(float(str(stage[name])) for stage in done.stages)
            row[name] = round(max(whole - told, 0), 1)
    return row


def verified(done: Released) -> list[Row]:
    """The published file, verified by all who can, beside DuckDB; where that is measured."""
    try:
        from verification import compare
    except ModuleNotFoundError:
        return []
    try:
        return list(compare(done.folder, K))
    except Exception as error:  # noqa: BLE001 - what was measured before shall stay
        return [{"failed": type(error).__name__}]


def told(done: Released) -> Row:
    """A release as a row."""
    cost, verdict = done.certificate["cost"], done.certificate["verdict"]
    assert isinstance(cost, dict)  # noqa: S101 - what the certificate is made of
    assert isinstance(verdict, dict)  # noqa: S101
    return {
        "threads": cost["threads"],
        "seconds": round(done.run.wall, 1),
        "without checks": round(done.unchecked, 1),
        "CPU s": round(done.run.cpu, 1),
        "peak MB": round(done.run.peak),
        "retained": round(cost["retained"], 3),
        "factor": round(cost["factor"] or float("nan"), 3),
        "violations": verdict["violations"],
    }


def exponent(before: Row, after: Row, name: str) -> float | str:
    """How a number grows with the queries: 1 is in proportion."""
    sizes = float(str(after["queries"])) / float(str(before["queries"]))
    old, new = float(str(before[name])), float(str(after[name]))
    if sizes <= 1 or not (old > 0 and new > 0):
        return ""
    return round(logarithm(new / old) / logarithm(sizes), 2)


def _is_check(row: Row) -> bool:
    return str(row["stage"]).endswith(": checks")
