"""Tables of a report, shown on its page and in the Dagster UI."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Final

from setanon_dagster.report.model import GroupSize, Report
from setanon_dagster.report.wording import CAUSES, cause, factor_text, round_name
from setanon_dagster.risk.attack_result import SMALLEST_SHARE, AttackResult, has_paper

UNKNOWN: Final = "unknown"
NONE: Final = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """Caption, column names and rows of text; the first cell of a row is its name."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: bool = True
    """Whether all columns except the first contain numbers."""


@dataclass(frozen=True, slots=True)
class SizeBin:
    """Groups whose number of users is in one range."""

    label: str
    groups: int
    threads: int


def count(n: float) -> str:
    """Integer with thousands separators."""
    return f"{n:,.0f}"


def share(part: float) -> str:
    """Share as a percentage: only 0 is shown as 0.0%, and only 1 as 100.0%.

    >>> share(0.4271), share(0.0004), share(0.99999)
    ('42.7%', '<0.1%', '>99.9%')
    """
    if 0 < part < SMALLEST_SHARE:
        return f"<{SMALLEST_SHARE:.1%}"
    if 1 - SMALLEST_SHARE < part < 1:
        return f">{1 - SMALLEST_SHARE:.1%}"
    return f"{part:.1%}"


def percentage(part: float, total: float) -> str:
    """Part of a total as a percentage; a dash if the total is 0."""
    return share(part / total) if total else NONE


def factor(value: float | None) -> str:
    """Cost divided by lower bound, rounded up so that the shown bound still holds."""
    return UNKNOWN if value is None else factor_text(value)


def size_bins(sizes: Sequence[GroupSize], k: int) -> list[SizeBin]:
    """Bins of groups: exactly k users, fewer than 2k, fewer than 4k, and so on."""
    largest = max((size.users for size in sizes), default=0)
    bins = []
    for low, high in _ranges(k, largest):
        inside = [size for size in sizes if low <= size.users <= high]
        if inside or low >= k:
            label = str(low) if low == high else f"{count(low)} to {count(high)}"
            groups, threads = (
                sum(getattr(size, name) for size in inside) for name in ("groups", "threads")
            )
            bins.append(SizeBin(label, groups, threads))
    return bins


def _ranges(k: int, largest: int) -> Iterator[tuple[int, int]]:
    yield 0, k - 1  # empty in any release that passed the verifier
    yield k, k
    low, high = k + 1, 2 * k - 1
    while low <= largest:
        if low <= high:
            yield low, high
        low, high = high + 1, 2 * high + 1


def costs_table(report: Report) -> Table:
    """Changes made to reach k, in keywords and threads."""
    cost = report.cost
    keywords, threads = cost["keywords"], cost["threads"]
    flips = cost["additions"] + cost["deletions"]
    return Table(
        "Changes made to reach k",
        ("", "count", "share"),
        (
            ("Additions: keywords added", count(cost["additions"]),
             percentage(cost["additions"], keywords)),
            ("Deletions: keywords deleted, including those of withdrawn threads",
             count(cost["deletions"]), percentage(cost["deletions"], keywords)),
            ("Cost: additions plus deletions", count(flips), percentage(flips, keywords)),
            ("Withdrawals: threads not published", count(cost["withdrawals"]),
             percentage(cost["withdrawals"], threads)),
            ("Respellings: keywords published in the common spelling",
             count(cost["respellings"]), percentage(cost["respellings"], keywords)),
            *_attribute_rows(cost.get("attributes", {})),
        ),
    )  # fmt: skip


def _attribute_rows(costs: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """The edits of each attribute, in values of threads."""
    for name, cost in costs.items():
        for edits in ("additions", "deletions"):
            share = percentage(cost[edits], cost["total"])
            yield f"{edits.capitalize()} of values of {name}", count(cost[edits]), share


def rounds_table(report: Report) -> Table:
    """Cost if the grouping had stopped after each round."""
    keywords = report.cost["keywords"]
    rows = []
    previous = None
    for each in report.rounds:
        saved = NONE if previous is None else count(previous - each.total)
        previous = each.total
        numbers = (each.additions, each.deletions, each.withdrawals, each.total)
        retained = share(1 - each.total / max(keywords, 1))
        rows.append((round_name(each.name), *map(count, numbers), saved, retained))
    return Table(
        "Cost if the grouping had stopped after each round",
        ("round", "additions", "deletions", "withdrawals", "cost", "saved", "retained"),
        tuple(rows),
    )


def sweep_table(report: Report) -> Table:
    """Cost of releases with other k and methods."""
    rows = tuple(
        (
            f"{point.k}, {point.method}", share(point.retained),
            UNKNOWN if point.upper_bound is None else share(point.upper_bound),
            count(point.additions), count(point.deletions), count(point.withdrawals),
        )
        for point in sorted(report.sweep, key=lambda point: (point.k, point.method))
    )  # fmt: skip
    return Table(
        "Retained share for each k and method",
        ("k, method", "retained", "at most", "additions", "deletions", "withdrawals"),
        rows,
    )


def sizes_table(report: Report) -> Table:
    """Groups and threads by users per group."""
    unit = report.certificate["unit"]
    bins = size_bins(report.sizes, report.k)
    groups, threads = (sum(getattr(each, name) for each in bins) for name in ("groups", "threads"))
    rows = tuple(
        (each.label, count(each.groups), percentage(each.groups, groups), count(each.threads),
         percentage(each.threads, threads))
        for each in bins
    )  # fmt: skip
    return Table(
        "Groups and threads by group size",
        (f"{unit}s per group", "groups", "share", "threads", "share"),
        rows,
    )


def losses_table(report: Report) -> Table:
    """Cost by cause; the rows sum to the cost."""
    if report.losses is None:
        return Table("Causes of the cost", ("cause", "keywords", "share of the cost"), ())
    counts = {name: getattr(report.losses, name) for name in CAUSES}
    total = sum(counts.values())
    least, unit = (report.certificate[name] for name in ("min_owners", "unit"))
    return Table(
        "Causes of the cost",
        ("cause", "keywords", "share of the cost"),
        tuple(
            (cause(name, least, unit), count(n), percentage(n, total)) for name, n in counts.items()
        ),
    )


def risk_table(report: Report, result: AttackResult) -> Table:
    """Figures of one attack, the largest share of the release first.

    The paper's method has a column if the report compares with it.
    """
    columns = ("original", "this release", "paper's method")
    shown = 3 if has_paper(report.risk) else 2
    figures = result.figures
    if all(each.unit == "share" for each in figures):  # scores and counts are not comparable
        figures = tuple(
            sorted(figures, key=lambda each: -each.release if isfinite(each.release) else inf)
        )
    return Table(
        f"{result.name}: figures",
        ("figure", *columns[:shown]),
        tuple((each.name, *each.cells[:shown]) for each in figures),
    )


def verdict_table(report: Report) -> Table:
    """All counts of the verifier."""
    return Table(
        "All counts of the verifier",
        ("count of", "value"),
        (
            *((name.replace("_", " "), count(n)) for name, n in report.verdict.items()),
            *((f"values of {name}", count(n)) for name, n in report.published_values.items()),
        ),
    )


def settings_table(report: Report) -> Table:
    """Parameters and software versions, from the certificate."""
    parameters = {**report.certificate["parameters"]}
    versions = {
        f"version of {name}": number for name, number in report.certificate["versions"].items()
    }
    return Table(
        "Parameters and versions in the certificate",
        ("name", "value"),
        tuple(
            (name, "not set" if value is None else str(value))
            for name, value in (parameters | versions).items()
        ),
        numeric=False,
    )
