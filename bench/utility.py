"""Utility of a release: the measures of section 5.5, for original, release and paper.

python bench/utility.py [FILE ...] [--users N] [--k K ...]
"""

import argparse
import time
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from pathlib import Path

import numpy as np
from markdown_table import Row, table

from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.utility.compare import measure_log
from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.cli.utility import source_utility
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.sources.source import Source


def compare(users: int, k: int = 3) -> list[Row]:
    """The measures of a demo log of `users` users, and the CPU time."""
    columns = zip(*demo_rows(users), strict=True)
    names, times, queries = (list(chain.from_iterable(chunks)) for chunks in columns)
    log = Log(names, np.asarray(times, "datetime64[s]"), queries)
    start = time.process_time()
    measures = rows(measure_log(log, ReleaseParams(k, secret=b"bench")))
    return [*measures, {"measure": "CPU seconds in total", "cases": _cpu_seconds_since(start)}]


def measure_file(path: Path, k: int = 3) -> list[Row]:
    """The measures of a file: a log if it has tabs, else one basket per line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline()
    if "\t" in line:
        has_header = "query" in line.lower().split("\t")
        columns = {} if has_header else {"user_column": 0, "time_column": 1, "query_column": 2}
        source = Source(str(path), **columns)
    else:
        source = Source(
            str(path), kind="baskets", layout="lines", delimiter="," if "," in line else " "
        )
    start = time.process_time()
    measures = rows(source_utility(ReleaseConfig(name="bench", source=source, k=k, out="")))
    return [*measures, {"measure": "CPU seconds in total", "cases": _cpu_seconds_since(start)}]


def rows(measures: tuple[UtilityMeasure, ...]) -> list[Row]:
    """Rows of a table, one per measure."""
    return [
        {
            "measure": each.name,
            "original": _rounded(each.original),
            "release": _rounded(each.release),
            "paper, p = 2": _rounded(each.paper),
            "cases": each.cases,
        }
        for each in measures
    ]


def _rounded(value: float) -> float | str:
    return round(value, 3) if isfinite(value) else "-"


def _cpu_seconds_since(start: float) -> float:
    return round(time.process_time() - start, 1)


def _tables(args: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    for k in args.k:
        if args.users:
            yield f"Demo log, {args.users:,} users, k = {k}", compare(args.users, k)
        for path in args.files:
            yield f"{path.stem}, k = {k}", measure_file(path, k)


def main() -> None:
    """Print one table per log and k."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", type=Path, help="logs, or files with one basket per line"
    )
    parser.add_argument(
        "--users", type=int, default=8_000, help="users of the demo log (8,000); 0: no demo log"
    )
    parser.add_argument("--k", type=int, nargs="*", default=[3], help="values of k (3)")
    for name, measures in _tables(parser.parse_args()):
        print(f"## {name}\n\n{table(measures)}\n", flush=True)


if __name__ == "__main__":
    main()
