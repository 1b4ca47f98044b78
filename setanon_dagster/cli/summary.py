"""Summary of a release, and of a verdict, in numbers."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from setanon_dagster import metadata_keys as keys
from setanon_dagster.report.wording import factor_text
from setanon_dagster.verifier.verdict import FileVerdict


def print_line(console: Console, text: str, style: str | None = None) -> None:
    """Print one line without wrapping, markup or highlighting: it may contain a long path."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def print_summary(
    console: Console,
    folder: Path,
    certificate: Mapping[str, Any],
    counts: Mapping[str, Mapping[str, Any]],
) -> None:
    """Print name, counts, cost and paths of a release; `counts` has the metadata by stage."""
    k, form = certificate["k"], certificate["parameters"].get("format")
    promise = f"; its sets are {k}-anonymous" if form == "edited" else f", {k}-anonymous"
    print_line(console, f"\n{folder.name} is published{promise}.", "bold green")
    unit = certificate.get("unit", "user")
    costs = _costs(certificate, unit, baskets="raw_baskets" in counts)
    print_values(console, (*_data(counts, unit), *costs, *_paths(folder)))


def print_values(console: Console, values: Iterable[tuple[str, str]]) -> None:
    """Print one line for each name and value."""
    for name, value in values:
        print_line(console, f"  {name:<13}{value}")


def print_verdict(console: Console, verdict: FileVerdict, *, users: bool) -> None:
    """Print the counts of a verdict; `users`: whether groups were counted in users."""
    unit = "users" if users else "threads"
    lines = {
        "threads": f"{verdict.records:,}",
        "groups": f"{verdict.groups:,}, the smallest of {verdict.smallest_group:,} {unit}",
        "lists": f"{verdict.lists:,} lists of queries" if verdict.lists else "",
        "violations": f"{verdict.violations:,} threads in {verdict.violating_groups:,} groups"
        + (f" and {verdict.violating_lists:,} lists" if verdict.lists else ""),
    }
    print_values(console, ((name, value) for name, value in lines.items() if value))


def _data(counts: Mapping[str, Mapping[str, Any]], unit: str) -> Iterator[tuple[str, str]]:
    users = next((stage[keys.USERS] for stage in counts.values() if keys.USERS in stage), None)
    if users is not None:
        yield "users", f"{users:,}" if unit == "user" else "unknown: each basket counts as one user"
    read = next((stage for stage in counts.values() if keys.LINES in stage), None)
    if read is not None:
        rejected = {
            key.removeprefix(keys.REJECTED): count
            for key, count in counts.get("rejected_rows", {}).items()
            if key.startswith(keys.REJECTED)
        }
        yield "lines", describe_lines(read[keys.LINES], rejected, read.get(keys.ENCODINGS, ""))


def describe_lines(lines: int, rejected: Mapping[str, int], encodings: str) -> str:
    """Lines read, those rejected by reason, and encodings of the text files.

    >>> describe_lines(1200, {"columns": 2, "quote": 1}, "utf-8")
    '1,200 (utf-8), 3 of them rejected: columns 2, quote 1'
    """
    files = f" ({encodings})" if encodings else ""
    reasons = ", ".join(f"{name} {n:,}" for name, n in sorted(rejected.items()) if n)
    count = f"{sum(rejected.values()):,} of them rejected: {reasons}" if reasons else "0 rejected"
    return f"{lines:,}{files}, {count}"


def _costs(
    certificate: Mapping[str, Any], unit: str, *, baskets: bool
) -> Iterator[tuple[str, str]]:
    cost, verdict = certificate["cost"], certificate["verdict"]
    records, words = ("baskets", "items") if baskets else ("threads", "keywords")
    counted = "users" if unit == "user" else records
    yield records, f"{cost['threads']:,}, {verdict['records']:,} of them published"
    yield (
        "groups",
        f"{verdict['groups']:,}, the smallest of {verdict['smallest_group']:,} {counted}",
    )
    for name in ("additions", "deletions", "withdrawals", "respellings"):
        yield name, f"{cost[name]:,}"
    yield "retained", f"{cost['retained']:.1%} of {cost['keywords']:,} {words}"
    yield "factor", _factor(cost["factor"])
    for name, each in cost.get("attributes", {}).items():
        share = f"{each['retained']:.1%} of {each['total']:,} values retained"
        yield name, f"{share}, {each['additions']:,} added, {each['deletions']:,} deleted"


def _factor(factor: float | None) -> str:
    """Upper bound of the cost relative to the least possible cost."""
    if factor is None:
        return "unknown: no lower bound was found"
    return f"at most {factor_text(factor)} times the least possible cost"


def public_files(folder: Path) -> Iterator[tuple[str, str]]:
    """The folder of a published release, and the names of its files."""
    yield "public", str(folder)
    yield "", ", ".join(sorted(path.name for path in folder.iterdir()))


def report_path(counts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """The report of a release that waits: whoever decides reads it. `counts` is by stage."""
    if keys.REPORT in counts["release"]:
        yield "report", str(counts["release"][keys.REPORT])


def _paths(folder: Path) -> Iterator[tuple[str, str]]:
    # Imported here: `setanon verify` uses this module without pyarrow.
    from setanon_dagster.report.build import REPORT
    from setanon_dagster.storage.folders import PRIVATE
    from setanon_dagster.verifier.release_folder import LATEST

    yield from public_files(folder)
    yield "latest", str(folder.parent / LATEST)
    private = folder.parents[2] / PRIVATE / folder.name
    yield "private", str(private)
    if (private / REPORT).exists():
        yield "report", str(private / REPORT)
