"""Measure the core: quality against optima, growth, odd shapes, and files of baskets if given.

python bench/run.py [--instances N] [--up-to N] [--out DIR] [FILE ...]
"""

import argparse
import json
import platform
from importlib.metadata import version
from pathlib import Path

import files
import growth
import quality
from measure import table


def main() -> None:
    """Run everything and write `core.md` and `core.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="baskets, one a line")
    parser.add_argument("--instances", type=int, default=600, help="small instances (600)")
    parser.add_argument("--up-to", type=int, default=100_000, help="largest log (100,000 threads)")
    parser.add_argument("--k", type=int, nargs="*", default=[5, 10], help="k for the files (5 10)")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    args = parser.parse_args()
    parts = {
        "Machine": [_machine()],
        "Against exact optima": quality.ratios(args.instances),
        "Growth": growth.grow(tuple(n for n in growth.SIZES if n <= args.up_to)),
        "Odd shapes": growth.shapes(),
    }
    for path in args.files:
        parts[f"Baskets: {path.stem}"] = [row for k in args.k for row in files.compare(path, k)]
    args.out.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(f"## {name}\n\n{table(rows)}" for name, rows in parts.items())
    (args.out / "core.md").write_text(text + "\n", encoding="utf-8")
    (args.out / "core.json").write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")
    print(text)


def _machine() -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in ("setanon", "numpy", "scipy")},
    }


if __name__ == "__main__":
    main()
