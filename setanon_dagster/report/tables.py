"""The tables of a report: what the page shows under its figures, and Dagster beside its assets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from setanon_dagster.report.model import GroupSize, Measure, Report
from setanon_dagster.report.wording import CAUSES, cause, round_name

UNKNOWN: Final = "unknown"
NONE: Final = "-"

ROUNDING: Final = 1e-9
"""What a product of floats may be off by."""


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, the names of columns, and rows of text; the first cell names its row."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: bool = True
    """Whether all but the first column are numbers."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Groups whose numbers of users lie in one range."""

    label: str
    groups: int
    threads: int


def count(n: float) -> str:
    """A whole number, with commas."""
    return f"{n:,.0f}"


def share(part: float) -> str:
    """A share, in per cent."""
    return f"{part:.1%}"


def of(part: float, whole: float) -> str:
    """A part of a whole, in per cent; a dash if there is no whole."""
    return share(part / whole) if whole else NONE


def factor(value: float | None) -> str:
    """Cost over lower bound, rounded up: less than that was not proved."""
    if value is None:
        return UNKNOWN
    return "1" if value == 1 else f"{ceil(1000 * value - ROUNDING) / 1000:.3f}"


def bins(sizes: Sequence[GroupSize], k: int) -> list[Bin]:
    """Groups of exactly k users, of less than twice as many, and so on by doubling."""
    most = max((size.users for size in sizes), default=0)
    found = []
    for low, high in _ranges(k, most):
        inside = [size for size in sizes if low <= size.users <= high]
        if inside or low >= k:
            label = str(low) if low == high else f"{count(low)} to {count(high)}"
            groups, threads = (
                sum(getattr(size, name) for size in inside) for name in ("groups", "threads")
            )
            found.append(Bin(label, groups, threads))
    return found


def _ranges(k: int, most: int) -> Iterator[tuple[int, int]]:
    yield 0, k - 1  # the verifier lets none of these pass
    yield k, k
    low, high = k + 1, 2 * k - 1
    while low <= most:
        if low <= high:
            yield low, high
        low, high = high + 1, 2 * high + 1


def costs_table(report: Report) -> Table:
    """What the release cost, in keywords and threads."""
    cost = report.cost
    keywords, threads = cost["keywords"], cost["threads"]
    flips = cost["additions"] + cost["deletions"]
    return Table(
        "What was changed to reach k",
        ("", "count", "share"),
        (
            ("Additions: keywords added", count(cost["additions"]),
             of(cost["additions"], keywords)),
            ("Deletions: keywords deleted, those of withdrawn threads included",
             count(cost["deletions"]), of(cost["deletions"], keywords)),
            ("Cost: additions and deletions", count(flips), of(flips, keywords)),
            ("Withdrawals: threads not published at all", count(cost["withdrawals"]),
             of(cost["withdrawals"], threads)),
            ("Respellings: keywords published as others spell them",
             count(cost["respellings"]), of(cost["respellings"], keywords)),
        ),
    )  # fmt: skip


def rounds_table(report: Report) -> Table:
    """What it would have cost to stop after each round."""
    keywords = report.cost["keywords"]
    rows = []
    before = None
    for each in report.rounds:
        saved = NONE if before is None else count(before - each.total)
        before = each.total
        numbers = (each.additions, each.deletions, each.withdrawals, each.total)
        kept = share(1 - each.total / max(keywords, 1))
        rows.append((round_name(each.name), *map(count, numbers), saved, kept))
    return Table(
        "What it would have cost to stop after each round",
        ("round", "additions", "deletions", "withdrawals", "cost", "saved", "retained"),
        tuple(rows),
    )


def sweep_table(report: Report) -> Table:
    """What other k and methods would have retained."""
    rows = tuple(
        (
            f"{point.k}, {point.method}", share(point.retained),
            UNKNOWN if point.most is None else share(point.most),
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
    """How large the groups are."""
    unit = report.certificate["unit"]
    found = bins(report.sizes, report.k)
    groups, threads = (sum(getattr(each, name) for each in found) for name in ("groups", "threads"))
    rows = tuple(
        (each.label, count(each.groups), of(each.groups, groups), count(each.threads),
         of(each.threads, threads))
        for each in found
    )  # fmt: skip
    return Table(
        "Groups and threads by the size of the group",
        (f"{unit}s in a group", "groups", "share", "threads", "share"),
        rows,
    )


def losses_table(report: Report) -> Table:
    """Where the cost comes from; the rows sum to all of it."""
    if report.losses is None:
        return Table("Causes of the cost", ("cause", "keywords", "share of the cost"), ())
    lost = {name: getattr(report.losses, name) for name in CAUSES}
    whole = sum(lost.values())
    least, unit = (report.certificate[name] for name in ("min_owners", "unit"))
    return Table(
        "Causes of the cost",
        ("cause", "keywords", "share of the cost"),
        tuple((cause(name, least, unit), count(n), of(n, whole)) for name, n in lost.items()),
    )


def measures_table(report: Report) -> Table:
    """What the release is good for, beside the original and the paper's way."""
    return Table(
        "Measures of use",
        ("measure", "original", "this release", "the paper's way"),
        tuple(
            (each.name, *(_measured(each, getattr(each, of_)) for of_ in _SIDES))
            for each in report.measures
        ),
    )


_SIDES: Final = ("original", "release", "paper")


def _measured(measure: Measure, value: float | None) -> str:
    if value is None:
        return NONE
    if measure.scale == "share":
        return share(value)
    return count(value) if measure.scale == "count" else f"{value:,.4g}"


def verdict_table(report: Report) -> Table:
    """Everything that the verifier counted."""
    return Table(
        "Everything that the verifier counted",
        ("count of", "found"),
        tuple((name.replace("_", " "), count(n)) for name, n in report.verdict.items()),
    )


def settings_table(report: Report) -> Table:
    """The parameters, and the versions of the software."""
    given = {**report.certificate["parameters"]}
    made = {f"version of {name}": number for name, number in report.certificate["versions"].items()}
    return Table(
        "As the certificate has them",
        ("name", "value"),
        tuple(
            (name, "not set" if value is None else str(value))
            for name, value in (given | made).items()
        ),
        numeric=False,
    )
