"""What a release is still good for: the measures of section 5.5, original, release and paper.

python bench/utility.py [FILE ...] [--users N] [--k K ...]
"""

import argparse
import time
from collections.abc import Iterator
from itertools import chain
from math import isfinite
from pathlib import Path

import numpy as np
from measure_source import table

from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.utility.compare import measure_log
from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.cli.utility import source_utility
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.demo.log import demo_rows
from setanon_dagster.sources.source import Source

Row = dict[str, object]


def compare(users: int, k: int = 3) -> list[Row]:
    """The measures of a demo log with so many users, and the time of both releases."""
    columns = zip(*demo_rows(users), strict=True)
    names, times, queries = (list(chain.from_iterable(chunks)) for chunks in columns)
    log = Log(names, np.asarray(times, "datetime64[s]"), queries)
    start = time.process_time()
    found = rows(measure_log(log, ReleaseParams(k, secret=b"bench")))
    return [*found, {"measure": "CPU seconds, all in all", "cases": _spent(start)}]


def of_file(path: Path, k: int = 3) -> list[Row]:
    """The measures of a file: a log if it has tabs, else baskets, one a line."""
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline()
    if "\t" in line:
        named = "query" in line.lower().split("\t")
        places = {} if named else {"user_column": 0, "time_column": 1, "query_column": 2}
        source = Source(str(path), **places)
    else:
        source = Source(
            str(path), kind="baskets", layout="lines", delimiter="," if "," in line else " "
        )
    start = time.process_time()
    found = rows(source_utility(ReleaseConfig(name="bench", source=source, k=k, out="")))
    return [*found, {"measure": "CPU seconds, all in all", "cases": _spent(start)}]


def rows(measures: tuple[UtilityMeasure, ...]) -> list[Row]:
    """Measures as rows of a table."""
    return [
        {
            "measure": each.name,
            "original": _told(each.original),
            "release": _told(each.release),
            "paper, p = 2": _told(each.paper),
            "cases": each.cases,
        }
        for each in measures
    ]


def _told(value: float) -> float | str:
    return round(value, 3) if isfinite(value) else "-"


def _spent(start: float) -> float:
    return round(time.process_time() - start, 1)


def _parts(args: argparse.Namespace) -> Iterator[tuple[str, list[Row]]]:
    for k in args.k:
        if args.users:
            yield f"Demo log, {args.users:,} users, k = {k}", compare(args.users, k)
        for path in args.files:
            yield f"{path.stem}, k = {k}", of_file(path, k)


def main() -> None:
    """Print a table for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="logs, or baskets, one a line")
    parser.add_argument("--users", type=int, default=8_000, help="of the demo log (8,000); 0: none")
    parser.add_argument("--k", type=int, nargs="*", default=[3], help="(3)")
    for name, found in _parts(parser.parse_args()):
        print(f"## {name}\n\n{table(found)}\n", flush=True)


if __name__ == "__main__":
    main()
