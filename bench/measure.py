"""Time, CPU time and memory: of a call here, or of a command with all its processes; tables."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

T = TypeVar("T")

PROC = Path("/proc")
EVERY = 0.05
"""Seconds between two looks at the memory, at least."""

CALM = 20
"""The next look waits this many times as long as the last one took: it shall cost under 5 %."""

KILOBYTES = 1024
TICKS = os.sysconf("SC_CLK_TCK")


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
    status = PROC / "self/status"
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / KILOBYTES


class Look(NamedTuple):
    """What all processes of a command held and had used at one time."""

    time: float
    cpu: float
    megabytes: float


@dataclass(slots=True)
class Run:
    """What became of a command, and what it took."""

    code: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    """Megabytes of all processes together, shared pages counted once; see `sampled`."""

    sampled: bool = True
    """False where there is no /proc: then the peak is that of the largest process."""

    out: str = ""
    lines: list[tuple[float, str]] = field(default_factory=list)
    """What it wrote to stderr, each line with the seconds since the start."""

    looks: list[Look] = field(default_factory=list)

    def between(self, start: float, end: float) -> tuple[float, float]:
        """CPU seconds and peak memory from one time to another, where there were looks."""
        inside = [look.megabytes for look in self.looks if start <= look.time <= end]
        nearest = min(self.looks, key=lambda look: abs(look.time - end)).megabytes
        return self._used(end) - self._used(start), max(inside, default=nearest)

    def _used(self, moment: float) -> float:
        """CPU seconds until then: on a straight line between two looks."""
        before, after = Look(0, 0, 0), self.looks[-1]
        for look in self.looks:
            if look.time > moment:
                after = look
                break
            before = look
        if after.time <= before.time:
            return before.cpu
        share = (moment - before.time) / (after.time - before.time)
        return before.cpu + min(share, 1) * (after.cpu - before.cpu)

    @property
    def failure(self) -> str:
        """Why it failed, in its own last words; empty if it did not."""
        if self.code == 0:
            return ""
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name} after {self.wall:.0f} s"
        words = [line.strip() for _, line in self.lines if line.strip()]
        return f"exit code {self.code}: {words[-1] if words else 'no word'}"


def run(command: Sequence[str], timeout: float | None = None) -> Run:
    """Run a command in a session of its own, and watch all processes in it until it ends."""
    found, start = Run(sampled=(PROC / "self/smaps_rollup").exists()), time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(
            command, stdout=out, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process,
        _watched(process.pid, start, found, timeout),
    ):
        for line in process.stderr or ():
            found.lines.append((time.perf_counter() - start, line.rstrip("\n")))
        # Of this child and of those that it waited for; Popen's own wait would not tell.
        _, status, used = os.wait4(process.pid, 0)
        found.code = process.returncode = os.waitstatus_to_exitcode(status)
        found.wall, found.cpu = time.perf_counter() - start, used.ru_utime + used.ru_stime
        out.seek(0)
        found.out = out.read()
    largest = used.ru_maxrss / (KILOBYTES**2 if sys.platform == "darwin" else KILOBYTES)
    found.peak = max((look.megabytes for look in found.looks), default=largest)
    return found


@contextmanager
def _watched(pid: int, start: float, found: Run, timeout: float | None) -> Iterator[None]:
    """Look at the processes while they run; end them when time is up, or we are interrupted."""
    ended = threading.Event()
    limit = threading.Timer(timeout or threading.TIMEOUT_MAX, _end, [pid])
    watch = threading.Thread(target=_watch, args=(pid, start, found.looks, ended))
    threads = [limit, watch] if found.sampled else [limit]
    for thread in threads:
        thread.start()
    try:
        yield
    except BaseException:
        _end(pid)
        raise
    finally:
        ended.set()
        limit.cancel()
        for thread in threads:
            thread.join()


def _end(session: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


def _watch(session: int, start: float, looks: list[Look], ended: threading.Event) -> None:
    wait = 0.0
    while not ended.wait(wait):
        # Of this thread alone: on a busy machine it waits longer than it works.
        began, moment = time.thread_time(), time.perf_counter() - start
        cpu, kilobytes = 0.0, 0
        for folder, used in _session(session):
            cpu += used
            kilobytes += _proportional(folder)
        if kilobytes:
            looks.append(Look(moment, cpu, kilobytes / KILOBYTES))
        wait = max(EVERY, CALM * (time.thread_time() - began))


def _session(number: int) -> Iterator[tuple[Path, float]]:
    """The processes of a session, and the CPU seconds of each and of its ended children."""
    for folder in PROC.glob("[0-9]*"):
        try:
            # A process may name itself with blanks and brackets; what follows is numbers.
            told = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(told[3]) == number:
            yield folder, sum(map(int, told[11:15])) / TICKS


def _proportional(folder: Path) -> int:
    """Kilobytes of a process, of each shared page only its share."""
    try:
        text = (folder / "smaps_rollup").read_text()
    except OSError:
        return 0  # it has ended, or is about to
    return next((int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:"), 0)


def table(rows: Iterable[dict[str, object]]) -> str:
    """Rows as Markdown, columns in order of first appearance, but for those without a value."""
    rows = list(rows)
    if not rows:
        return "None."
    named = dict.fromkeys(name for row in rows for name in row)
    names = [name for name in named if any(row.get(name, "") != "" for row in rows)]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    grouped = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if grouped else str(value).replace("|", "\\|")
