"""Faults other than kills: disk, permissions, memory, workers, concurrency, source and clock.

Each function returns the number of tries and the findings. A run must publish, or refuse with a
sentence that says what to do, and leave no temporary file in either case.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
from functools import partial

from faults.children import Child, call, kill_at
from faults.release_run import (
    config_of,
    faults_of_latest,
    latest_name,
    names_below,
    run_release,
)
from setanon_dagster.engines import embedded
from setanon_dagster.storage.resource_errors import DISK_FULL, MEMORY, NOT_WRITABLE, WORKER_ENDED

NOBODY = 65534
TRIES = 6


class Skipped(Exception):  # noqa: N818 - not an error
    """The fault cannot be injected on this machine."""


def finding(result, *sentences, published=True):
    """Describe a result that is neither a release nor a refusal with one of these sentences."""
    kind, value = result
    if kind == "returned" and published:
        return []
    if kind == "refused" and any(sentence in value for sentence in sentences):
        return []
    return [f"{kind}: {value}"]


def temporary_names(out):
    """Temporary files and folders, and private folders of unpublished releases."""
    return [f"left: {name}" for name in names_below(out) if "/." in f"/{name}"]


def mount(folder, options):
    """Mount a file system in memory; only root may do that."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.call(command, stderr=subprocess.DEVNULL):
        raise Skipped("a file system in memory must be mounted; this needs root")


def unmount(folder):
    subprocess.run(["umount", str(folder)], check=True)  # noqa: S607


def disk_full(folder, logs):
    """Release into a small file system, of growing size until the release is published."""
    out, kilobytes, tries, findings = folder / "small", 16, 0, []
    kind = None
    while kind != "returned":
        mount(out, f"size={kilobytes}k")
        try:
            result = call(run_release, config_of(logs[0], out / "out"))
            kind = result[0]
            findings += finding(result, DISK_FULL)
            findings += temporary_names(out)
        finally:
            unmount(out)
        tries, kilobytes = tries + 1, int(kilobytes * 1.25) + 4
        if kilobytes > 100_000:
            return tries, [*findings, "100 MB are not enough"]
    return tries, findings


def file_size_limit(folder, logs):
    """Limit the size of files, of growing size until the release is published."""

    def limited(config, limit):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return run_release(config)

    out, limit, tries, findings, kind = folder / "limited", 512, 0, [], None
    while kind != "returned":
        result = call(limited, config_of(logs[0], out), limit)
        kind = result[0]
        findings += finding(result, DISK_FULL) + temporary_names(out)
        tries, limit = tries + 1, limit * 2
    return tries, findings


def read_only(folder, logs):
    """Release into a read-only file system, and into a folder of another user."""
    findings = []
    out = folder / "read-only"
    mount(out, "size=20m")
    try:
        call(run_release, config_of(logs[0], out / "out"))
        before = names_below(out)
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)  # noqa: S607
        findings += finding(
            call(run_release, config_of(logs[1], out / "out")), NOT_WRITABLE, published=False
        )
        findings += ["changed"] * (names_below(out) != before)
    finally:
        unmount(out)
    findings += other_user(folder, logs)
    return 2, findings


def other_user(folder, logs):
    def run_as_nobody(config):
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return run_release(config)

    out = folder / "other-user"
    out.mkdir()
    for path in (folder, *folder.parents, logs[0].parent):
        if path.stat().st_uid == os.getuid() and path.name.startswith("setanon-faults-"):
            path.chmod(0o755)
    return finding(call(run_as_nobody, config_of(logs[0], out)), NOT_WRITABLE, published=False)


def worker_killed(folder, logs):
    """Kill a worker process of the pool while it works."""

    def run_and_kill(config):
        start = embedded.start_processes

        def start_and_kill(*arguments, **options):
            pool = start(*arguments, **options)

            def kill():
                while not pool._processes:  # noqa: SLF001 - the pids are not public
                    time.sleep(0.01)
                os.kill(next(iter(pool._processes)), signal.SIGKILL)  # noqa: SLF001

            threading.Thread(target=kill, daemon=True).start()
            return pool

        embedded.start_processes = start_and_kill
        return run_release(config, min_parallel_rows=1)

    out = folder / "workers"
    result = call(run_and_kill, config_of(logs[0], out, workers=2))
    findings = finding(result, WORKER_ENDED, published=False) + temporary_names(out)
    findings += finding(call(run_release, config_of(logs[0], out)))
    return 1, findings


def memory_limit(folder, logs):
    """Release with memory limits from too small to sufficient."""
    findings, limits = [], ("1MB", "4MB", "8MB", "16MB", "32MB", "100MB")
    for limit in limits:
        out = folder / f"memory-{limit}"
        result = call(partial(run_release, duckdb_memory=limit), config_of(logs[0], out))
        findings += [f"{limit}: {each}" for each in finding(result, MEMORY, "memory must suffice")]
        findings += temporary_names(out)
    return len(limits), findings


def two_at_once(folder, logs, seed):
    """Run two releases in one folder at once; kill one of them in every second try."""
    rng, out, findings = random.Random(seed), folder / "two", []  # noqa: S311
    names = [call(run_release, config_of(log, out))[1] for log in logs]
    expected = names_below(out)
    for n in range(TRIES):
        configs = [config_of(logs[0], out), config_of(logs[n % 3 == 0], out)]
        children = [Child(run_release, config) for config in configs]
        if n % 2:
            time.sleep(rng.random() / 2)
            children[0].kill()
        results = [child.result() for child in children]
        # Two logs in one folder: a run may read stages of the other, and must then refuse.
        for result in results[n % 2 :]:
            findings += finding(result, "a release must be k-anonymous", "must have")
        findings += call(faults_of_latest, out, set(names))[1]
        findings += finding(call(run_release, configs[0]))
        findings += [f"left: {name}" for name in sorted(names_below(out) - expected)]
    return TRIES, findings


def source_changes(folder, logs):
    """Truncate, extend and replace the source while it is read."""
    findings, text = [], logs[0].read_bytes()
    for n in range(TRIES):
        log, out = folder / "changing.tsv", folder / f"changing{n}"
        log.write_bytes(text)
        child = Child(run_release, config_of(log, out))
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            if n % 3 == 0:
                os.truncate(log, len(text) // 2)
            elif n % 3 == 1:
                with log.open("ab") as file:
                    file.write(b"u\t2006-03-01 00:00:00\tpine stra")
            else:
                log.unlink()
                log.write_bytes(text[: len(text) // 3])
            time.sleep(0.01)
        findings += finding(child.result(), "must be readable", "must exist", "must have")
        findings += temporary_names(out)
    return TRIES, findings


def clock_set_back(folder, logs):
    """Leave files of a killed run with times in the future or past; run with another clock."""

    def run_with_clock(config, moment):
        time.time = lambda: moment
        return run_release(config)

    findings, out = [], folder / "clock"
    call(run_release, config_of(logs[0], out))
    expected = names_below(out)
    for n, (file_time, now) in enumerate([(4e9, 0.0), (0, 4e9), (4e9, 4e9), (0, 0.0)] * 2):
        kill_at(0.02 + 0.04 * n, run_release, config_of(logs[0], out))
        for name in names_below(out) - expected:
            os.utime(out / name, (file_time, file_time), follow_symlinks=False)
        findings += finding(call(run_with_clock, config_of(logs[0], out), now))
        findings += [f"left: {name}" for name in sorted(names_below(out) - expected)]
    return 8, findings + ([] if latest_name(out) else ["no latest"])
