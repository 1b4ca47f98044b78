"""Apply the known faults and the generated mutants one by one, and run the tests of each module.

Arguments: modules to mutate (default: all of modules.toml); `--sample N` mutants of each module,
chosen by `--seed`; `--workers`; `--faults-only`; `--table FILE` for the numbers as Markdown.
Exit code 1 if a known fault survives, or fewer than 95 % of the mutants are found.
"""

import argparse
import ast
import importlib
import os
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["HYPOTHESIS_PROFILE"] = "mutants"

from mutants import child
from mutants.generate import mutants_of

HERE = Path(__file__).parent
GOAL = 0.95
EQUIVALENT = "equivalent"


@dataclass(frozen=True, slots=True)
class Job:
    """One mutant and the tests that should find it."""

    module: str
    where: str
    change: str
    tests: tuple[str, ...]
    tree: ast.Module


def read_toml(name: str) -> dict:
    """A table next to this file."""
    return tomllib.loads((HERE / name).read_text())


def tests_of(module: str, tables: dict) -> tuple[str, ...]:
    """The doctests of the module, and the test files that modules.toml names."""
    return (module, *tables["tests"][module])


def known_faults() -> list[Job]:
    """The faults of faults.toml: hand-made, each once survived all tests."""
    jobs = []
    for fault in read_toml("faults.toml")["fault"]:
        source = (child.ROOT / fault["module"]).read_text()
        if source.count(fault["old"]) != 1:
            sys.exit(
                f"faults.toml: the old text of every fault must occur once in its module; that of "
                f"'{fault['name']}' occurs {source.count(fault['old'])} times. Update the fault."
            )
        changed = source.replace(fault["old"], fault["new"])
        line = source[: source.index(fault["old"])].count("\n") + 1
        where = f"{fault['module']}:{line}"
        tests = (fault["module"], *fault["tests"])
        jobs.append(Job(fault["module"], where, fault["name"], tests, ast.parse(changed)))
    return jobs


def generated(module: str, tables: dict, sample: int | None, seed: int) -> tuple[list[Job], int]:
    """Mutants of a module, and the number of those listed as equivalent."""
    source = (child.ROOT / module).read_text()
    lines = source.splitlines()
    listed = {
        (entry["line"], change)
        for entry in read_toml("equivalent.toml")["mutant"]
        if entry["module"] == module
        for change in entry["changes"]
    }
    mutants = mutants_of(source)
    if sample is not None and sample < len(mutants):
        chosen = random.Random(f"{seed} {module}").sample(range(len(mutants)), sample)  # noqa: S311
        mutants = [mutants[position] for position in sorted(chosen)]
    generated_now = {(lines[m.line - 1].strip(), m.change) for m in mutants_of(source)}
    for line, change in sorted(listed - generated_now):
        print(f"equivalent.toml: {module} no longer has the mutant {change} of: {line}")
    kept = [m for m in mutants if (lines[m.line - 1].strip(), m.change) not in listed]
    tests = tests_of(module, tables)
    jobs = [Job(module, f"{module}:{m.line}", m.change, tests, m.apply()) for m in kept]
    return jobs, len(mutants) - len(kept)


def warm_up(tests: list[str]) -> None:
    """Import the packages of others once; this repository's modules are imported by each child."""
    own = ("setanon", "test", "support", "mutants", "conftest", "__main__", "docs", "bench")
    with child.imported_modules(tests) as names:
        for name in names:
            if not name.startswith(own) and name not in sys.modules:
                try:
                    importlib.import_module(name)
                except Exception:  # noqa: BLE001, S112 - a lazy or renamed module
                    continue


def run(jobs: list[Job], times: dict[tuple[str, ...], float], workers: int) -> Iterator[tuple]:
    """Run the jobs, `workers` at once; yield each job with its outcome."""
    waiting, running = list(reversed(jobs)), {}
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            finder = child.MutantFinder(job.module, job.tree)
            running[child.start(job.tests, finder, 20 + 5 * times[job.tests])] = job
        time.sleep(0.02)
        for process in list(running):
            outcome = child.poll(process)
            if outcome is not None:
                yield running.pop(process), outcome


def baseline(tests: tuple[str, ...]) -> float:
    """Seconds of the tests without a mutant; they must pass."""
    begin = time.monotonic()
    process = child.start(tests, None, 600)
    while (outcome := child.poll(process)) is None:
        time.sleep(0.02)
    if outcome != child.SURVIVED:
        sys.exit(f"the tests must pass before anything is changed; these do not: {' '.join(tests)}")
    return time.monotonic() - begin


def table_of(counts: dict[str, Counter]) -> list[str]:
    """The numbers as a Markdown table."""
    rows = ["| module | mutants | killed | survived | equivalent | share killed |"]
    rows.append("|---|---|---|---|---|---|")
    total: Counter = Counter()
    for count in counts.values():
        total += count
    for module, count in [*counts.items(), ("all", total)]:
        killed = count[child.KILLED] + count[child.TIMEOUT]
        rows.append(
            f"| {module} | {sum(count.values())} | {killed} | {count[child.SURVIVED]} | "
            f"{count[EQUIVALENT]} | {100 * share_killed(count):.1f} % |"
        )
    return rows


def share_killed(count: Counter) -> float:
    """Share of the mutants that are not equivalent."""
    killed = count[child.KILLED] + count[child.TIMEOUT]
    return killed / max(killed + count[child.SURVIVED], 1)


def main() -> int:
    """Parse the arguments, run everything, print survivors and numbers."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--faults-only", action="store_true")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    os.chdir(child.ROOT)
    tables = read_toml("modules.toml")
    modules = options.modules or list(tables["tests"])
    faults = [job for job in known_faults() if not options.modules or job.module in modules]
    unknown = set(modules) - {*tables["tests"], *(job.module for job in faults)}
    if unknown:
        sys.exit(
            "every module must be a key of modules.toml or have a fault in faults.toml; these are "
            f"not: {', '.join(sorted(unknown))}."
        )
    jobs, counts = list(faults), {}
    generated_of = [module for module in modules if module in tables["tests"]]
    for module in [] if options.faults_only else generated_of:
        of_module, equivalent = generated(module, tables, options.sample, options.seed)
        counts[module] = Counter({EQUIVALENT: equivalent})
        jobs += of_module
    warm_up(sorted({test for job in jobs for test in job.tests}))
    times = {tests: baseline(tests) for tests in dict.fromkeys(job.tests for job in jobs)}
    found_faults, known = 0, set(map(id, faults))
    for number, (job, outcome) in enumerate(run(jobs, times, options.workers), 1):
        if id(job) in known:
            found_faults += outcome != child.SURVIVED
        else:
            counts[job.module][outcome] += 1
        if outcome != child.KILLED:
            print(f"{outcome} {job.where}: {job.change}", flush=True)
        if number % 50 == 0:
            print(f"{number} of {len(jobs)} mutants", flush=True)
    print(f"known faults: {found_faults} of {len(faults)} found")
    lines = table_of(counts)
    print("\n".join(lines))
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")
    good = all(share_killed(count) >= GOAL for count in counts.values())
    return 0 if good and found_faults == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
