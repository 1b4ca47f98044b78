"""Kill releases at random moments; then one undisturbed run must leave its own files only."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

from faults.children import Child, call, kill_at, moments
from faults.release_run import (
    SECRET,
    STEPS,
    config_of,
    faults_of_latest,
    latest_name,
    names_below,
    run_release,
    step_now,
)

PROGRESS = 20
"""Kills between two lines of progress."""


def undisturbed(folder, logs):
    """Release both logs into a new folder; return names, files, and seconds of the slower run."""
    out = folder / "undisturbed"
    names, seconds = [], []
    for log in logs:
        child = Child(run_release, config_of(log, out))
        kind, name = child.result()
        if kind != "returned":
            raise RuntimeError(f"the undisturbed run failed: {name}")
        names.append(name)
        seconds.append(child.seconds)
    return names, names_below(out), max(seconds)


def kill_functions(folder, logs, number, seed):
    """Kill `number` runs of the stages; return findings, and the number of kills per step."""
    names, expected, seconds = undisturbed(folder, logs)
    out, temporary = folder / "killed", folder / "tmp"
    temporary.mkdir()
    tempfile.tempdir = str(temporary)
    for log in logs:
        call(run_release, config_of(log, out))
    findings, steps = [], Counter()
    for n, moment in enumerate(moments(seed, number, seconds * 1.05)):
        config = config_of(logs[n % 2], out)
        before = latest_name(out)
        step_now[0] = 0
        if kill_at(moment, run_release, config):
            steps[STEPS[step_now[0]]] += 1
        else:
            steps["finished before"] += 1
        left = names_below(out, temporary) - expected
        found = call(_check_and_run, config, {before, names[n % 2]}, expected, temporary)
        if (n + 1) % PROGRESS == 0:
            print(f"{n + 1} kills", file=sys.stderr, flush=True)
        if found != ("returned", []):
            findings.append(f"kill {n} at {moment:.3f} s ({len(left)} left): {found[1]}")
            shutil.rmtree(out)
            for log in logs:
                call(run_release, config_of(log, out))
    tempfile.tempdir = None
    return findings, steps


def _check_and_run(config, allowed, expected, temporary):
    """Check `latest`, run undisturbed, and compare the files with those of an undisturbed run."""
    findings = faults_of_latest(config.folder, allowed)
    name = run_release(config)
    findings += faults_of_latest(config.folder, {name})
    found = names_below(config.folder)
    findings += [f"left: {path}" for path in sorted(found - expected)]
    findings += [f"missing: {path}" for path in sorted(expected - found)]
    findings += [f"left in the temporary folder: {path}" for path in names_below(temporary)]
    return findings


def kill_commands(folder, logs, number, seed):
    """Kill `number` runs of `setanon release`, then run it once; return findings."""
    out, temporary = folder / "commands", folder / "commands-tmp"
    temporary.mkdir()
    environment = {**os.environ, "SETANON_SECRET": SECRET.decode(), "TMPDIR": str(temporary)}

    def command(log, folder):
        return [
            sys.executable, "-m", "setanon_dagster.cli", "release", str(log), "--name", "trial",
            "--k", "3", "--out", str(folder),
        ]  # fmt: skip

    def run(log, folder):
        start = time.monotonic()
        subprocess.run(command(log, folder), env=environment, check=True, capture_output=True)
        return time.monotonic() - start

    seconds = run(logs[0], folder / "command")
    expected = _without_run_ids(names_below(folder / "command"))
    name = latest_name(folder / "command")
    findings = [f"left in the temporary folder: {path}" for path in names_below(temporary)]
    for moment in moments(seed, number, seconds):
        process = subprocess.Popen(
            command(logs[0], out),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(moment)
        process.kill()
        process.wait()
        result = call(faults_of_latest, out, {None, name})
        findings += [f"after a kill at {moment:.2f} s: {each}" for each in result[1]]
    run(logs[0], out)
    found = _without_run_ids(names_below(out))
    findings += [f"left: {path}" for path in sorted(found - expected)]
    findings += [f"missing: {path}" for path in sorted(expected - found)]
    findings += [f"left in the temporary folder: {path}" for path in names_below(temporary)]
    return findings


def _without_run_ids(names):
    """Names may contain the time of the run, and numbers derived from it."""
    return Counter(re.sub(r"\d{8}T\d{6}\.\d+Z|[0-9a-f]{32}", "*", name) for name in names)
