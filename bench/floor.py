"""The floor: DuckDB alone reads a log, sorts it by user and time, and writes it as Parquet.

python bench/floor.py LOG PARQUET THREADS
"""

import json
import sys
from pathlib import Path

from measure import Run, run, seconds

SORT = """
COPY (SELECT * FROM read_csv(?, delim = '\t', header = true, quote = '') ORDER BY "user", "time")
TO '{}' (FORMAT parquet)
"""
LONG = 5
"""Seconds after which once is enough."""

REPEATS = 3


def floor(log: Path, folder: Path, threads: int, timeout: float | None = None) -> Run:
    """Sort the log in a fresh process; its output has the seconds of the work alone."""
    target = folder / "floor.parquet"
    found = run([sys.executable, __file__, str(log), str(target), str(threads)], timeout)
    target.unlink(missing_ok=True)
    return found


def took(found: Run) -> float:
    """The median time of the work, without the start of the process."""
    return float(json.loads(found.out)["seconds"])


def main() -> None:
    """Sort three times, or once if that takes long, and print the median."""
    import duckdb

    log, target, threads = sys.argv[1:]
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {int(threads)}")

        def sort() -> None:
            connection.execute(SORT.format(target), [log])

        _, once = seconds(sort)
        if once < LONG:
            _, once = seconds(sort, REPEATS)
    print(json.dumps({"seconds": once}))


if __name__ == "__main__":
    main()
