"""The command `sweep`: cost for each k as text, CSV and figure; nothing is published."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from setanon_core.errors import SetanonError
from setanon_dagster.cli.dry_run import cluster_source
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.report.comparison import sweep_totals
from setanon_dagster.report.wording import factor_text, round_factor
from setanon_dagster.stages.cost_report import ATTRIBUTE_COUNTS
from setanon_dagster.stages.load_threads import load_threads
from setanon_dagster.storage.attribute_columns import attributes_of, stage_column

Row = Mapping[str, Any]

TOTAL: Final = f"_{ATTRIBUTE_COUNTS[0]}"
"""Ends the name of the column of an attribute that has its number of values."""

WIDTHS: Final[Mapping[str, int]] = {
    "k": 4, "method": 7, "retained": 9, "additions": 11, "deletions": 11, "withdrawals": 11,
    "respellings": 11, "factor": 8,
}  # fmt: skip
"""Printed columns of a cost report, and their widths."""


class FigureError(SetanonError):
    """The figure cannot be drawn: matplotlib or a known file type is missing."""


def sweep_rows(configs: Sequence[ReleaseConfig], ks: Sequence[int]) -> Iterator[Row]:
    """Total cost for each k by each of `configs`, which may differ in their method only."""
    methods = [config.params() for config in configs]
    # Threads and clusters do not depend on the method: they are computed once.
    threads = load_threads(cluster_source(configs[0]), methods[0])
    yield from sweep_totals(threads, methods, ks)


def format_header(row: Row) -> str:
    """The names of the columns of a row; below those of attributes is the share retained."""
    return " ".join(f"{name:>{width}}" for name, width in _widths(row).items())


def format_row(row: Row) -> str:
    """One line of text, below the header."""
    cells = {
        name: _cell(name, row[name]) if name in WIDTHS else _retained(row, name)
        for name in _widths(row)
    }
    return " ".join(f"{cells[name]:>{width}}" for name, width in _widths(row).items())


def _widths(row: Row) -> dict[str, int]:
    """The printed columns of a row, and their widths."""
    counted = [name.removesuffix(TOTAL) for name in row if name.endswith(TOTAL)]
    return {**WIDTHS, **{name: max(len(name), 8) for name in attributes_of(counted)}}


def _retained(row: Row, attribute: str) -> str:
    total, added, deleted = (
        row[f"{stage_column(attribute)}_{count}"] for count in ATTRIBUTE_COUNTS
    )
    return f"{1 - (added + deleted) / max(total, 1):.1%}"


def _cell(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name == "retained":
        return f"{value:.1%}"
    if isinstance(value, int):
        return f"{value:,}"
    return factor_text(value) if isfinite(value) else "-"


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write all columns of the rows as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "factor": round_factor(row["factor"])})


def plot(rows: Sequence[Row], path: Path) -> None:
    """Plot the share retained, and additions and deletions, against k."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise FigureError(
            "A figure requires matplotlib, which is not installed. Run: pip install "
            "'setanon[plot]', or omit the figure: the table has the same numbers."
        ) from None
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for index, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        method_rows = [row for row in rows if row["method"] == method]
        ks, color = [row["k"] for row in method_rows], f"C{index}"
        retained = [100 * row["retained"] for row in method_rows]
        left.plot(ks, retained, "o-", color=color, label=method)
        for name, style in (("deletions", "o-"), ("additions", "^--")):
            counts = [row[name] for row in method_rows]
            right.plot(ks, counts, style, color=color, label=f"{method}: {name}")
    left.set(xlabel="k", ylabel="% of keywords retained", ylim=(0, 100))
    right.set(xlabel="k", ylabel="keywords of threads", ylim=(0, None))
    right.yaxis.set_major_formatter("{x:,.0f}")
    for axes in (left, right):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(visible=True, alpha=0.3)
        # Below the axes: inside, a curve may pass through the legend.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, frameon=False)
    try:
        figure.savefig(path)
    except ValueError:
        raise FigureError(
            "The file name of the figure must have an extension that matplotlib supports, such as "
            ".png, .svg or .pdf."
        ) from None
