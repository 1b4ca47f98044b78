"""A series of batches beside one release of everything: retained keywords, waiting time, seconds.

python bench/series.py [FILE ...] [--users N] [--parts N] [--digits N] [--k K ...] [--hold N ...]

The demo log is cut into parts of equal length; a log of lines user, time, query (tab-separated) by
the first digits of its times: 8 digits of 970916105432 are its hour. A thread belongs to the part
of its last query.
"""

import argparse
import re
import time
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markdown_table import Row, table

from setanon_core import Params, Series
from setanon_core.columns.arrays import Ints
from setanon_core.columns.encode import encode_values
from setanon_core.columns.records import Records
from setanon_core.columns.times import encode_times
from setanon_core.columns.users import encode_users
from setanon_core.model.inputs import Log
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_records import anonymize_records
from setanon_core.pipeline.log import threads_of_log
from setanon_core.threads.separate import separate_threads
from setanon_dagster.demo.log import demo_rows

HOLDS = (0, 1, 3, 7, 14)
K_VALUES = (3, 5)
TIMED = ((3, 5), (10, 12), (28, 30))
"""First and last of the parts whose mean time is shown; from part 8, hold = 7 is reached."""


class Parts(NamedTuple):
    """The records of a log, and the part of each."""

    records: Records
    part: Ints


def demo_parts(users: int, n: int) -> Parts:
    """The demo log, cut into n parts of equal length."""
    names, times, texts = (
        list(chain.from_iterable(column)) for column in zip(*demo_rows(users), strict=True)
    )
    seconds = encode_times(np.array(times, "datetime64[s]"))
    first, last = seconds.min(), seconds.max()
    return _parts(names, seconds, texts, (seconds - first) * n // (last - first + 1))


def file_parts(path: Path, digits: int) -> Parts:
    """The lines of a log with a query, cut where the first digits of their times change."""
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    rows = [row for line in lines if len(row := line.split("\t")) > 2 and row[2].strip()]  # noqa: PLR2004
    names, times, texts = ([row[column] for row in rows] for column in range(3))
    numbers = [re.sub(r"\D", "", each) for each in times]
    _, part = np.unique([each[:digits] for each in numbers], return_inverse=True)
    return _parts(names, np.array(list(map(int, numbers))), texts, part)


def _parts(names: list[str], times: Ints, texts: list[str], part_of_row: Ints) -> Parts:
    records = threads_of_log(Log(names, times, texts), ReleaseParams(2)).records
    text, distinct = encode_values(texts, "query")
    users = encode_users(names, len(text))
    thread = separate_threads(users, times, text, None, texts=distinct, unit="thread")
    part = np.zeros(len(records), np.int64)
    np.maximum.at(part, thread, part_of_row)
    return Parts(records, part)


def compare(parts: Parts, k: int, holds: tuple[int, ...] = HOLDS) -> list[Row]:
    """One row per hold, and one for a release of everything."""
    records, keywords = parts.records, len(parts.records.items)
    start = time.process_time()
    whole = anonymize_records(records, Params(k))
    seconds = time.process_time() - start
    everything = 1 - whole.cost.total / keywords
    rows = [run(parts, k, hold) for hold in holds]
    daily = float(str(rows[0]["retained"]))
    for row in rows:
        row["gap closed"] = round((float(str(row["retained"])) - daily) / (everything - daily), 3)
    return [
        *rows,
        {
            "hold": "one release",
            "retained": round(everything, 4),
            "published": round(float(whole.published.mean()), 3),
            "seconds": round(seconds, 1),
        },
    ]


def run(parts: Parts, k: int, hold: int) -> Row:
    """All parts one after the other, each with a state restored from its bytes."""
    records = parts.records
    names = [f"i{item}" for item in range(records.width)]
    bounds = list(pairwise(records.offsets.tolist()))
    items = records.items.tolist()
    series = Series(k, hold=hold, secret=b"bench")
    cost, waited, held, seconds, state = 0, 0, [], [], series.to_bytes()
    for number in range(int(parts.part.max()) + 2):
        chosen = np.flatnonzero(parts.part == number).tolist()
        sets = [{names[item] for item in items[slice(*bounds[row])]} for row in chosen]
        users = records.users[chosen].tolist()
        start = time.process_time()
        series = Series.from_bytes(state, secret=b"bench")
        last = number > parts.part.max()
        batch = series.flush() if last else series.add(sets, users)
        state = series.to_bytes()
        seconds.append(time.process_time() - start)
        cost += batch.cost.total
        waited += int(batch.waited.sum())
        held.append(batch.held)
    return {
        "hold": hold,
        "retained": round(1 - cost / len(records.items), 4),
        "gap closed": 0,
        "published": round(series.published / series.arrived, 3),
        "parts waited": round(waited / max(series.published, 1), 2),
        "held, at most": max(held),
        "seconds": round(sum(seconds), 1),
        **{
            f"parts {first}-{last}": round(float(np.mean(seconds[first - 1 : last])), 3)
            for first, last in TIMED
            if last < len(seconds)
        },
        "state, KB": len(state) // 1000,
    }


def main() -> None:
    """Print one table per log and k."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="logs: user, time, query")
    parser.add_argument("--users", type=int, default=10_000, help="of the demo log; 0: none")
    parser.add_argument("--parts", type=int, default=30, help="of the demo log (30)")
    parser.add_argument("--digits", type=int, default=8, help="of the times of a file (8)")
    parser.add_argument("--k", type=int, nargs="*", default=K_VALUES, help="values of k (3, 5)")
    parser.add_argument("--hold", type=int, nargs="*", default=HOLDS, help="parts to wait")
    args = parser.parse_args()
    logs = {f"demo log, {args.users:,} users": lambda: demo_parts(args.users, args.parts)}
    for name, log in (logs if args.users else {}).items():
        _print(name, log(), args)
    for path in args.files:
        _print(path.stem, file_parts(path, args.digits), args)


def _print(name: str, parts: Parts, args: argparse.Namespace) -> None:
    for k in args.k:
        title = f"{name}, {int(parts.part.max()) + 1} parts, k = {k}"
        print(f"## {title}\n\n{table(compare(parts, k, tuple(args.hold)))}\n", flush=True)


if __name__ == "__main__":
    main()
