"""The reference time: DuckDB reads a log, sorts it by user and time, and writes Parquet.

python bench/duckdb_sort.py LOG PARQUET CORES
"""

import json
import sys
from pathlib import Path

from measure import Run, run, seconds

SORT = """
COPY (SELECT * FROM read_csv(?, delim = '\t', header = true, quote = '') ORDER BY "user", "time")
TO '{}' (FORMAT parquet)
"""
REPEAT_BELOW = 5
"""Seconds; a sort that takes longer is measured once."""

REPEATS = 3


def sort_log(log: Path, folder: Path, cores: int, timeout: float | None = None) -> Run:
    """Sort the log in a new process, which prints the seconds without its own start."""
    target = folder / "sorted.parquet"
    result = run([sys.executable, __file__, str(log), str(target), str(cores)], timeout)
    target.unlink(missing_ok=True)
    return result


def sort_seconds(result: Run) -> float:
    """The median duration of the sort, without the start of the process."""
    return float(json.loads(result.out)["seconds"])


def main() -> None:
    """Sort three times, or once if that takes long, and print the median."""
    import duckdb

    log, target, cores = sys.argv[1:]
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {int(cores)}")

        def sort() -> None:
            connection.execute(SORT.format(target), [log])

        _, duration = seconds(sort)
        if duration < REPEAT_BELOW:
            _, duration = seconds(sort, REPEATS)
    print(json.dumps({"seconds": duration}))


if __name__ == "__main__":
    main()
