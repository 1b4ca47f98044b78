"""Run the benchmarks, and write tables, numbers and figures.

python bench/run.py [--sizes N ...] [--parts PART ...] [--data FILE ...] [--out DIR]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import baseline_scripts
import core_growth
import data_files
import demo_log
import exact_optima
import figures
import grouping_methods
import release_growth
from markdown_table import Row
from release_growth import ReleaseSettings
from report import Report, machine

from setanon_core import SetanonError

Sections = Iterator[tuple[str, list[Row]]]


def release(args: argparse.Namespace, settings: ReleaseSettings) -> Sections:
    """The command end to end, its stages, DuckDB's sort as reference, and the verification."""
    yield from release_growth.measure_growth(args.sizes, settings)


def baselines(args: argparse.Namespace, settings: ReleaseSettings) -> Sections:
    """The command compared with baseline scripts."""
    yield "Baseline scripts", baseline_scripts.compare(args.paper_log, settings)


def methods(args: argparse.Namespace, settings: ReleaseSettings) -> Sections:
    """Grouping methods on the demo log of the paper's shape."""
    threads = demo_log.demo_threads(args.paper_log, settings.seed)
    yield "Demo log", [demo_log.statistics(args.paper_log, threads)]
    yield (
        "Grouping methods: demo log",
        grouping_methods.compare("demo log", threads.records, data_files.K_OF_LOGS),
    )
    yield (
        "Demo log: the paper's figure of costs, p = 2, min_owners = 0",
        list(demo_log.cost_by_k(threads)),
    )


def data(args: argparse.Namespace, _: ReleaseSettings) -> Sections:
    """Grouping methods on the given files."""
    for path in args.data:
        section = f"Grouping methods: {path.stem}"
        if not path.is_file():
            yield section, [{"data": path.stem, "failed": "file not found"}]
            continue
        records, k = data_files.read(path)
        yield section, grouping_methods.compare(path.stem, records, k)


def optima(args: argparse.Namespace, _: ReleaseSettings) -> Sections:
    """Small instances whose optimum is known."""
    yield "Compared with exact optima", exact_optima.ratios(args.instances)


def core(args: argparse.Namespace, _: ReleaseSettings) -> Sections:
    """The core alone: growth with the number of records, and edge cases."""
    sizes = tuple(n for n in core_growth.SIZES if n <= args.up_to)
    yield "Growth", core_growth.measure_growth(sizes)
    yield "Edge cases", core_growth.measure_edge_cases()


PARTS: dict[str, Callable[[argparse.Namespace, ReleaseSettings], Sections]] = {
    part.__name__: part for part in (release, baselines, methods, data, optima, core)
}


def main() -> None:
    """Run the selected parts; if one fails, report it and run the next."""
    args = _parser().parse_args()
    report = Report(args.out, {name: str(value) for name, value in vars(args).items()})
    report.add("Machine", machine())
    durations: list[Row] = []
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        settings = ReleaseSettings(Path(folder), args.workers, args.timeout, args.seed)
        for name in args.parts:
            start = time.perf_counter()
            _run_part(name, args, settings, report)
            durations.append({"part": name, "seconds": round(time.perf_counter() - start, 1)})
            report.add("Duration of each part", durations)
            print(f"[{name}: {durations[-1]['seconds']} s]\n", flush=True)
    print(report.section("Duration of each part"))
    for path in figures.draw(report.sections, args.out):
        print(path)
    if args.paste is not None:
        report.paste(args.paste)


def _run_part(
    name: str, args: argparse.Namespace, settings: ReleaseSettings, report: Report
) -> None:
    printed: dict[str, int] = {}
    try:
        for section, rows in PARTS[name](args, settings):
            report.add(section, rows)
            if printed.get(section) != len(rows):
                print(report.section(section), flush=True)
            printed[section] = len(rows)
    except Exception as error:  # noqa: BLE001 - the other parts must run
        # Messages of other errors may contain data of a file.
        message = str(error) if isinstance(error, SetanonError) else "message withheld"
        report.add(f"Failed: {name}", [{"error": type(error).__name__, "message": message}])
        print(f"{name} failed: {type(error).__name__}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=[40_000, 400_000], help="queries of the logs")
    add(
        "--paper-log",
        type=int,
        default=baseline_scripts.QUERIES,
        help=f"queries of the log of the paper's shape ({baseline_scripts.QUERIES:,})",
    )
    add("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run (all)")
    add("--data", type=Path, nargs="*", default=[], help="one basket per line, or TSV logs")
    add("--instances", type=int, default=600, help="number of small instances (600)")
    add("--up-to", type=int, default=100_000, help="threads of the largest core log (100,000)")
    add("--workers", type=int, default=2, help="processes of a release, cores of DuckDB (2)")
    add("--timeout", type=float, help="seconds after which a command is killed and has failed")
    add("--seed", type=int, default=0, help="seed of the synthetic logs (0)")
    add("--work", type=Path, help="folder for temporary logs and releases")
    add("--out", type=Path, default=Path("bench/results"), help="output folder (bench/results)")
    add("--paste", type=Path, help="document whose sections of the same names are replaced")
    return parser


if __name__ == "__main__":
    main()
