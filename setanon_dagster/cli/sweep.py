"""What a release would cost for each k, before anything is published: numbers, and a figure."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pyarrow as pa

from setanon_core.errors import SetanonError
from setanon_core.pipeline.release_threads import sweep
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.sources.read import read_source
from setanon_dagster.stages.clusters import basket_clusters_table, clusters_table
from setanon_dagster.stages.cost_report import TOTAL, cost_table
from setanon_dagster.stages.stored_threads import load_threads
from setanon_dagster.stages.threads import threads_table
from setanon_dagster.storage.connection import connect

Row = Mapping[str, Any]

WIDTHS: Final[Mapping[str, int]] = {
    "k": 4, "method": 7, "retained": 9, "additions": 11, "deletions": 11, "withdrawals": 11,
    "respellings": 11, "factor": 8,
}  # fmt: skip
"""What is printed of what a cost report has, and how wide."""

HEADER: Final = " ".join(f"{name:>{width}}" for name, width in WIDTHS.items())


class MissingFigureError(SetanonError):
    """There is nothing to draw with."""


def sweep_rows(configs: Sequence[ReleaseConfig], ks: Sequence[int]) -> Iterator[Row]:
    """The total of each k by each of these methods; threads and clusters are made once."""
    params = [config.params() for config in configs]
    # Of methods these know nothing.
    threads = load_threads(clusters_of(configs[0]), params[0])
    swept = [sweep(threads, each, ks) for each in params]
    for costs in zip(*swept, strict=True):
        for cost, each in zip(costs, params, strict=True):
            report = cost_table([cost], each).to_pylist()
            yield from (row for row in report if row["round"] == TOTAL)


def clusters_of(config: ReleaseConfig) -> pa.Table:
    """Threads, or baskets, with their items: read, separated and clustered in memory."""
    # What is read is private, and what memory cannot hold lies in a folder that nobody can enter.
    with TemporaryDirectory(prefix="setanon-") as spill:
        read = read_source(config.source, connection=connect(temp_folder=spill))
        raw = read.accepted.to_arrow_table()
    if config.source.kind == "baskets":
        return basket_clusters_table(raw)
    params = config.params()
    return clusters_table(threads_table(raw, params), params)


def format_row(row: Row) -> str:
    """A row as it is printed, under the header."""
    return " ".join(f"{_cell(name, row[name]):>{width}}" for name, width in WIDTHS.items())


def _cell(name: str, value: float | str) -> str:
    if isinstance(value, str):
        return value
    if name == "retained":
        return f"{value:.1%}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}" if isfinite(value) else "-"


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """All columns of the rows, for a program to read."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw what is retained, and what is added and deleted, against k."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingFigureError(
            "A figure must be drawn by matplotlib, which is not installed. Install setanon[plot], "
            "or do without the figure: the table is all there is in it."
        ) from None
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, method in enumerate(dict.fromkeys(row["method"] for row in rows)):
        own = [row for row in rows if row["method"] == method]
        ks, color = [row["k"] for row in own], f"C{place}"
        retained = [100 * row["retained"] for row in own]
        left.plot(ks, retained, "o-", color=color, label=method)
        for name, line in (("deletions", "o-"), ("additions", "^--")):
            flips = [row[name] for row in own]
            right.plot(ks, flips, line, color=color, label=f"{method}: {name}")
    left.set(xlabel="k", ylabel="% of keywords retained", ylim=(0, 100))
    right.set(xlabel="k", ylabel="keywords of threads", ylim=(0, None))
    for axes in (left, right):
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    try:
        figure.savefig(path)
    except ValueError:
        raise MissingFigureError(
            "The name of the figure must end as matplotlib knows it, such as .png, .svg or .pdf."
        ) from None
