"""Measure time, CPU time and memory of a function call, or of a command with all its processes."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

T = TypeVar("T")

PROC = Path("/proc")
SAMPLE_INTERVAL = 0.05
"""Seconds between two samples of the memory, at least."""

WAIT_FACTOR = 20
"""The next sample waits this many times the duration of the last: sampling costs under 5 %."""

KILOBYTES = 1024
TICKS = os.sysconf("SC_CLK_TCK")


def seconds(work: Callable[[], T], repeats: int = 1) -> tuple[T, float]:
    """The result of a call, and the median duration of several calls (machines are noisy)."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        durations.append(time.perf_counter() - start)
    return result, median(durations)


def peak_megabytes() -> float:
    """Peak memory of this process since its start."""
    # Not ru_maxrss: a process inherits that of its parent.
    status = PROC / "self/status"
    if not status.exists():
        return float("nan")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / KILOBYTES


class Sample(NamedTuple):
    """CPU seconds and memory of all processes of a command at one time."""

    time: float
    cpu: float
    megabytes: float


@dataclass(slots=True)
class Run:
    """The outcome of a command, and its time and memory."""

    code: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    """Megabytes of all processes together, shared pages counted once; see `sampled`."""

    sampled: bool = True
    """False without /proc: then `peak` is that of the largest process."""

    out: str = ""
    lines: list[tuple[float, str]] = field(default_factory=list)
    """Lines of stderr, each with the seconds since the start."""

    samples: list[Sample] = field(default_factory=list)

    def between(self, start: float, end: float) -> tuple[float, float]:
        """CPU seconds and peak memory between two times; requires samples."""
        inside = [sample.megabytes for sample in self.samples if start <= sample.time <= end]
        nearest = min(self.samples, key=lambda sample: abs(sample.time - end)).megabytes
        return self._cpu_until(end) - self._cpu_until(start), max(inside, default=nearest)

    def _cpu_until(self, moment: float) -> float:
        """CPU seconds until a time, by linear interpolation between two samples."""
        before, after = Sample(0, 0, 0), self.samples[-1]
        for sample in self.samples:
            if sample.time > moment:
                after = sample
                break
            before = sample
        if after.time <= before.time:
            return before.cpu
        share = (moment - before.time) / (after.time - before.time)
        return before.cpu + min(share, 1) * (after.cpu - before.cpu)

    @property
    def failure(self) -> str:
        """Exit code and last line of stderr; empty if the command succeeded."""
        if self.code == 0:
            return ""
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name} after {self.wall:.0f} s"
        texts = [line.strip() for _, line in self.lines if line.strip()]
        return f"exit code {self.code}: {texts[-1] if texts else 'no message'}"


def run(command: Sequence[str], timeout: float | None = None) -> Run:
    """Run a command in a new session, and sample all processes of the session until it ends."""
    result, start = Run(sampled=(PROC / "self/smaps_rollup").exists()), time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(
            command, stdout=out, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process,
        _sampling(process.pid, start, result, timeout),
    ):
        for line in process.stderr or ():
            result.lines.append((time.perf_counter() - start, line.rstrip("\n")))
        # wait4 returns the CPU time of this process and its children; Popen.wait does not.
        _, status, usage = os.wait4(process.pid, 0)
        result.code = process.returncode = os.waitstatus_to_exitcode(status)
        result.wall, result.cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
        out.seek(0)
        result.out = out.read()
    largest = usage.ru_maxrss / (KILOBYTES**2 if sys.platform == "darwin" else KILOBYTES)
    result.peak = max((sample.megabytes for sample in result.samples), default=largest)
    return result


@contextmanager
def _sampling(pid: int, start: float, result: Run, timeout: float | None) -> Iterator[None]:
    """Sample the processes while they run; kill them after the timeout or on an exception."""
    ended = threading.Event()
    timer = threading.Timer(timeout or threading.TIMEOUT_MAX, _kill, [pid])
    sampler = threading.Thread(target=_sample, args=(pid, start, result.samples, ended))
    workers = [timer, sampler] if result.sampled else [timer]
    for worker in workers:
        worker.start()
    try:
        yield
    except BaseException:
        _kill(pid)
        raise
    finally:
        ended.set()
        timer.cancel()
        for worker in workers:
            worker.join()


def _kill(session: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(session, signal.SIGKILL)


def _sample(session: int, start: float, samples: list[Sample], ended: threading.Event) -> None:
    wait = 0.0
    while not ended.wait(wait):
        # CPU time of the sampler, not wall time: on a busy machine it mostly waits.
        began, moment = time.thread_time(), time.perf_counter() - start
        cpu, kilobytes = 0.0, 0
        for folder, used in _processes(session):
            cpu += used
            kilobytes += _proportional_kilobytes(folder)
        if kilobytes:
            # The CPU time of a process that ends is missing until its parent has waited for it.
            cpu = max(cpu, samples[-1].cpu) if samples else cpu
            samples.append(Sample(moment, cpu, kilobytes / KILOBYTES))
        wait = max(SAMPLE_INTERVAL, WAIT_FACTOR * (time.thread_time() - began))


def _processes(session: int) -> Iterator[tuple[Path, float]]:
    """The processes of a session, each with its CPU seconds and those of its ended children."""
    for folder in PROC.glob("[0-9]*"):
        try:
            # The name of a process may contain spaces and brackets; only numbers follow it.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == session:
            yield folder, sum(map(int, fields[11:15])) / TICKS


def _proportional_kilobytes(folder: Path) -> int:
    """Memory of a process; a page shared by n processes counts 1/n."""
    try:
        text = (folder / "smaps_rollup").read_text()
    except OSError:
        return 0  # it has ended, or is about to
    return next((int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:"), 0)
