"""Read fuzzed lines and print a table: python -m fuzz [--lines N] [--seed N] [--file SEED]."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.laws import findings_of
from fuzz.lines import random_file

SIZES = (1, 10, 100, 300, 1_000, 3_000, 10_000)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=None, help="seed of the first file")
    arguments = parser.parse_args()
    seed = time.time_ns() % 1_000_000_000 if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    outcomes, findings, lines = Counter(), [], 0
    with TemporaryDirectory(prefix="setanon-fuzz-") as folder:
        while lines < arguments.lines:
            size = min(SIZES[seed % len(SIZES)], arguments.lines - lines)
            found, outcome = findings_of(random_file(seed, size), Path(folder))
            outcomes[outcome] += 1
            findings += [f"file {seed} of {size} lines: {each}" for each in found]
            lines, seed = lines + size, seed + 1
    print("| lines | files | read | refused | crashed | found |\n|---|---|---|---|---|---|")
    counts = (outcomes[name] for name in ("read", "refused", "crashed"))
    cells = [lines, outcomes.total(), *counts, len(findings)]
    print("| " + " | ".join(map(str, cells)) + " |")
    print("\n".join(findings[:50]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
