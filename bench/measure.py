"""Time and peak memory, and tables of what was measured."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import TypeVar

T = TypeVar("T")


def seconds(work: Callable[[], T], repeats: int = 1) -> tuple[T, float]:
    """The result, and the median time of some runs: these machines are noisy."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, median(times)


def peak_megabytes() -> float:
    """The most memory that this process has held since it was started."""
    # Not ru_maxrss: a process inherits that of its parent.
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def table(rows: Iterable[dict[str, object]]) -> str:
    """Rows as Markdown, columns in order of first appearance."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(str(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)
