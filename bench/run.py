"""Measure the core: quality against optima, growth, odd shapes, and files of baskets if given.

python bench/run.py [--instances N] [--up-to N] [--out DIR] [FILE ...]
"""

import argparse
import json
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import files
import growth
import log_stages
import quality
from measure import table


def main() -> None:
    """Run everything and write `core.md` and `core.json`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="baskets, one a line")
    parser.add_argument("--instances", type=int, default=600, help="small instances (600)")
    parser.add_argument("--up-to", type=int, default=100_000, help="largest log (100,000 threads)")
    parser.add_argument("--users", type=int, default=82_000, help="of the demo log (82,000)")
    parser.add_argument("--k", type=int, nargs="*", default=[5, 10], help="k for the files (5 10)")
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[dict[str, object]]] = {}
    text = ""
    for name, rows in _parts(args):
        section = f"## {name}\n\n{table(rows)}\n\n"
        print(section, flush=True)
        parts[name] = rows
        text += section
    (args.out / "core.md").write_text(text.rstrip() + "\n", encoding="utf-8")
    (args.out / "core.json").write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")


def _parts(args: argparse.Namespace) -> Iterator[tuple[str, list[dict[str, object]]]]:
    yield "Machine", [_machine()]
    yield "Against exact optima", quality.ratios(args.instances)
    yield "Growth", growth.grow(tuple(n for n in growth.SIZES if n <= args.up_to))
    yield "Odd shapes", growth.shapes()
    yield from log_stages.compare(args.users)
    for path in args.files:
        yield f"Baskets: {path.stem}", [row for k in args.k for row in files.compare(path, k)]


def _machine() -> dict[str, object]:
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in ("setanon", "numpy", "scipy")},
    }


if __name__ == "__main__":
    main()
