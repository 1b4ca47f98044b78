"""Measure everything side by side, and write tables, numbers and figures.

python bench/run.py [--sizes N ...] [--parts PART ...] [--data FILE ...] [--out DIR]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import demo_log
import figures
import files
import growth
import instead
import methods
import quality
import scale
from report import Report, Row, machine

from setanon_core import SetanonError

Sections = Iterator[tuple[str, list[Row]]]


def optima(args: argparse.Namespace, _: scale.Asked) -> Sections:
    """Small instances whose optimum is known."""
    yield "Against exact optima", quality.ratios(args.instances)


def core(args: argparse.Namespace, _: scale.Asked) -> Sections:
    """The core alone: growth with the records, and odd shapes."""
    yield "Growth", growth.grow(tuple(n for n in growth.SIZES if n <= args.up_to))
    yield "Odd shapes", growth.shapes()


def release(args: argparse.Namespace, asked: scale.Asked) -> Sections:
    """The command from end to end, its stages, DuckDB's floor, and its verification."""
    yield from scale.grow(args.sizes, asked)


def naive(args: argparse.Namespace, asked: scale.Asked) -> Sections:
    """The command beside an afternoon's script."""
    yield "Instead of it", instead.compare(args.paper_log, asked)


def ways(args: argparse.Namespace, asked: scale.Asked) -> Sections:
    """Ways to form groups, on the demo log of the paper's shape and on files that were given."""
    threads = demo_log.demo_threads(args.paper_log, asked.seed)
    yield "Demo log", [demo_log.shape(args.paper_log, threads)]
    yield "Ways: demo log", methods.compare("demo log", threads.records, files.K_OF_LOGS)
    yield (
        "Demo log: the paper's figure of costs, p = 2, min_owners = 0",
        list(demo_log.by_k(threads)),
    )


def data(args: argparse.Namespace, _: scale.Asked) -> Sections:
    """The same ways on files that were given."""
    for path in args.data:
        if not path.is_file():
            yield f"Ways: {path.stem}", [{"data": path.stem, "failed": "there is no such file"}]
            continue
        records, k = files.read(path)
        yield f"Ways: {path.stem}", methods.compare(path.stem, records, k)


PARTS: dict[str, Callable[[argparse.Namespace, scale.Asked], Sections]] = {
    part.__name__: part for part in (release, naive, ways, data, optima, core)
}


def main() -> None:
    """Run the parts that were asked for; a part that fails is told, and the next one runs."""
    args = _arguments().parse_args()
    settings: Row = {name: str(value) for name, value in vars(args).items()}
    report = Report(args.out, settings)
    report.add("Machine", machine())
    took: list[Row] = []
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        asked = scale.Asked(Path(folder), args.workers, args.timeout, args.seed)
        for name in args.parts:
            start = time.perf_counter()
            _run(name, args, asked, report)
            took.append({"part": name, "seconds": round(time.perf_counter() - start, 1)})
            report.add("How long it took", took)
            print(f"[{name}: {took[-1]['seconds']} s]\n", flush=True)
    print(report.section("How long it took"))
    for path in figures.draw(report.sections, args.out):
        print(path)
    if args.paste is not None:
        report.paste(args.paste)


def _run(name: str, args: argparse.Namespace, asked: scale.Asked, report: Report) -> None:
    before: dict[str, int] = {}
    try:
        for section, rows in PARTS[name](args, asked):
            report.add(section, rows)
            if before.get(section) != len(rows):
                print(report.section(section), flush=True)
            before[section] = len(rows)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other parts shall run
        # Its text may hold what a file holds, unless it is ours.
        own = str(error) if isinstance(error, SetanonError) else "its text is withheld"
        report.add(f"Failed: {name}", [{"error": type(error).__name__, "what": own}])
        print(f"{name} failed: {type(error).__name__}", file=sys.stderr, flush=True)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=[40_000, 400_000], help="queries of the logs")
    add("--paper-log", type=int, default=instead.QUERIES, help="queries of that of its shape")
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure (all)")
    add("--data", type=Path, nargs="*", default=[], help="baskets, one a line, or TSV logs")
    add("--instances", type=int, default=600, help="small instances (600)")
    add("--up-to", type=int, default=100_000, help="threads of the core's largest log (100,000)")
    add("--workers", type=int, default=2, help="processes of a release, threads of DuckDB (2)")
    add("--timeout", type=float, help="seconds after which a command is ended, and has failed")
    add("--seed", type=int, default=0, help="of the made-up logs (0)")
    add("--work", type=Path, help="folder for logs and releases, which are deleted afterwards")
    add("--out", type=Path, default=Path("bench/results"), help="folder of what is written")
    add("--paste", type=Path, help="document whose tables of the same names are replaced")
    return parser


if __name__ == "__main__":
    main()
