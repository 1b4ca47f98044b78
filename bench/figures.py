"""Figures of the measurements: time and memory by size, and what each grouping method retains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_table import Row

FORMATS = ("png", "svg")
TIMES = {
    "seconds": "setanon release, end to end",
    "without checks": "its stages and gate",
    "DuckDB s": "DuckDB: read, sort, write",
}
MEMORY = {"peak MB": "setanon release", "DuckDB peak MB": "DuckDB: read, sort, write"}


def draw(sections: dict[str, list[Row]], out: Path) -> list[Path]:
    """Draw the figures for which there is enough data; return the files written."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    files: list[Path] = []
    sizes = [row for row in sections.get("End to end", []) if "seconds" in row]
    if len(sizes) > 1:
        files += _draw_growth(sizes, TIMES, "seconds", out / "time")
        files += _draw_growth(sizes, MEMORY, "peak megabytes", out / "memory")
    methods = [
        row
        for name, rows in sections.items()
        if name.startswith("Grouping methods:")
        for row in rows
    ]
    if methods:
        files += _draw_retained([row for row in methods if "retained" in row], out / "retained")
    return files


def _draw_growth(rows: Sequence[Row], names: dict[str, str], unit: str, stem: Path) -> list[Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, label in names.items():
        points = [(row["queries"], row[name]) for row in rows if name in row]
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel=unit)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    return _save(figure, stem)


def _draw_retained(rows: Sequence[Row], stem: Path) -> list[Path]:
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure = Figure(figsize=(8, 1 + 2 * len(data)), layout="constrained")
    for axes, name in zip(figure.subplots(len(data), squeeze=False).flat, data, strict=True):
        selected = [row for row in rows if row["data"] == name][::-1]
        bars = axes.barh(
            [str(row["method"]) for row in selected], [_percent_retained(row) for row in selected]
        )
        axes.bar_label(bars, fmt="%.1f", padding=2)
        axes.set(title=f"{name}, k = {selected[0]['k']}", xlabel="retained, %", xlim=(0, 100))
    return _save(figure, stem)


def _percent_retained(row: Row) -> float:
    # Negative if additions cost more than the items retained.
    return max(100 * float(str(row["retained"])), 0)


def _save(figure: Any, stem: Path) -> list[Path]:  # noqa: ANN401 - matplotlib is optional
    files = [stem.with_suffix(f".{suffix}") for suffix in FORMATS]
    for path in files:
        figure.savefig(path, dpi=150)
    return files
