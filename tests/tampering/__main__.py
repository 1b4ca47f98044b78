"""Change releases at random, and count by kind how many changes the verifier refuses.

python -m tampering [--releases 10000] [--seed 0]
"""
# ruff: noqa: T201 - prints its table

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from support.tampering import tampered_releases


def main():
    """Print the number of changed releases and of missed changes, by format and kind."""
    parser = argparse.ArgumentParser(prog="tampering")
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tried, missed = Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        releases = tampered_releases(Path(folder), arguments.releases, arguments.seed)
        for form, change, refused in releases:
            tried[form, change] += 1
            missed[form, change] += not refused
            if sum(tried.values()) % 500 == 0:
                print(sum(tried.values()), "tried", sum(missed.values()), "missed", file=sys.stderr)
    print("| format | change | tried | missed |\n|---|---|---:|---:|")
    for (form, change), count in sorted(tried.items()):
        print(f"| {form} | {change.replace('_', ' ')} | {count} | {missed[form, change]} |")
    print(f"| all | | {sum(tried.values())} | {sum(missed.values())} |")
    return 1 if sum(missed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
