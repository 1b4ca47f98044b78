"""Inject faults into releases and print a table: python -m faults [--kills N] [--seed N]."""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from faults import conditions, kills
from faults.children import import_as_in
from faults.release_run import STEPS, config_of, run_release, write_logs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="killed runs of the stages")
    parser.add_argument("--commands", type=int, default=6, help="killed runs of setanon release")
    parser.add_argument("--seed", type=int, default=None, help="of the random moments")
    parser.add_argument("--only", default="", help="part of the name of the tries to run")
    arguments = parser.parse_args()
    seed = time.time_ns() % 1_000_000 if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="setanon-faults-") as folder:
        return run_all(Path(folder), arguments, seed)


def run_all(folder, arguments, seed):
    """Run all faults; return the exit code."""
    logs = write_logs(folder / "logs")
    import_as_in(run_release, config_of(logs[0], folder / "first"))

    def kill_functions(folder, logs):
        findings, steps = kills.kill_functions(folder, logs, arguments.kills, seed)
        counts = ", ".join(f"{name} {steps[name]}" for name in (*STEPS, "finished before"))
        print(f"kills per step: {counts}", flush=True)
        return arguments.kills, findings

    def kill_commands(folder, logs):
        found = kills.kill_commands(folder, logs, arguments.commands, seed)
        return arguments.commands, found

    tries = {
        "kill the stages, then run once": kill_functions,
        "kill setanon release, then run once": kill_commands,
        "disk full": conditions.disk_full,
        "limit on file size": conditions.file_size_limit,
        "read-only file system, folder of another user": conditions.read_only,
        "worker process killed": conditions.worker_killed,
        "memory limit too small": conditions.memory_limit,
        "two runs at once": partial(conditions.two_at_once, seed=seed),
        "source changes while it is read": conditions.source_changes,
        "clock set back, files of the future": conditions.clock_set_back,
    }
    print("| try | number | found |\n|---|---|---|", flush=True)
    total = []
    for name, inject in tries.items():
        if arguments.only not in name:
            continue
        try:
            number, findings = inject(folder, logs)
        except conditions.Skipped as reason:
            print(f"| {name} | 0 | skipped: {reason} |", flush=True)
            continue
        print(f"| {name} | {number} | {len(findings)} |", flush=True)
        total += [f"{name}: {each}" for each in findings]
    print("\n".join(total))
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
