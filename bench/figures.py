"""Figures of what was measured: time and memory by size, and what each way keeps."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, object]

KINDS = ("png", "svg")
TIMES = {
    "seconds": "setanon release, from end to end",
    "without checks": "its stages and gate",
    "DuckDB s": "DuckDB: read, sort, write",
}
MEMORY = {"peak MB": "setanon release", "DuckDB peak MB": "DuckDB: read, sort, write"}


def draw(sections: dict[str, list[Row]], out: Path) -> list[Path]:
    """Draw what there is enough of; the files that were written."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("Agg")
    made: list[Path] = []
    whole = [row for row in sections.get("From end to end", []) if "seconds" in row]
    if len(whole) > 1:
        made += _growth(whole, TIMES, "seconds", out / "time")
        made += _growth(whole, MEMORY, "megabytes, at most", out / "memory")
    kept = [row for name, rows in sections.items() if name.startswith("Ways:") for row in rows]
    if kept:
        made += _kept([row for row in kept if "retained" in row], out / "retained")
    return made


def _growth(rows: Sequence[Row], names: dict[str, str], unit: str, stem: Path) -> list[Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, label in names.items():
        points = [(row["queries"], row[name]) for row in rows if name in row]
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="queries", ylabel=unit)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    return _saved(figure, stem)


def _kept(rows: Sequence[Row], stem: Path) -> list[Path]:
    from matplotlib.figure import Figure

    data = list(dict.fromkeys(str(row["data"]) for row in rows))
    figure = Figure(figsize=(8, 1 + 2 * len(data)), layout="constrained")
    for axes, name in zip(figure.subplots(len(data), squeeze=False).flat, data, strict=True):
        own = [row for row in rows if row["data"] == name][::-1]
        bars = axes.barh([str(row["way"]) for row in own], [_share(row) for row in own])
        axes.bar_label(bars, fmt="%.1f", padding=2)
        axes.set(title=f"{name}, k = {own[0]['k']}", xlabel="retained, %", xlim=(0, 100))
    return _saved(figure, stem)


def _share(row: Row) -> float:
    # Additions may cost more than there was to keep.
    return max(100 * float(str(row["retained"])), 0)


def _saved(figure: Any, stem: Path) -> list[Path]:  # noqa: ANN401 - it comes with matplotlib
    made = [stem.with_suffix(f".{kind}") for kind in KINDS]
    for path in made:
        figure.savefig(path, dpi=150)
    return made
