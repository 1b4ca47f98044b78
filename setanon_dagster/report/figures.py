"""The figures of a report, drawn by matplotlib; without it the tables say it all."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from setanon_dagster.report.model import Report, SweepPoint
from setanon_dagster.report.svg import PAGE, PAPER, Palette, drawing, inline_svg, png
from setanon_dagster.report.tables import bins, count
from setanon_dagster.report.wording import SHORT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawn = Callable[[Report, Palette], "Figure"]

WIDE: Final = 7.2
"""Inches."""

MARKS: Final = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))
"""What tells the lines of a figure apart, besides their colours."""


def drawable() -> bool:
    """Whether there is something to draw with."""
    return find_spec("matplotlib") is not None


def as_svg(draw: Drawn, report: Report, name: str) -> str | None:
    """A figure for the page, or None if nothing can be drawn."""
    if not drawable():
        return None
    with drawing(PAGE):
        return inline_svg(draw(report, PAGE), name)


def as_png(draw: Drawn, report: Report) -> str | None:
    """A figure for places that know no variables, in base64; None if nothing can be drawn."""
    if not drawable():
        return None
    with drawing(PAPER):
        return png(draw(report, PAPER))


def sweep_figure(report: Report, palette: Palette) -> "Figure":
    """Retained share against k, a line for each method, under what no solution exceeds."""
    figure, axes = _axes(3.4)
    methods = list(dict.fromkeys(point.method for point in report.sweep))
    colours = (palette.first, palette.second, palette.ink, palette.soft)
    for place, method in enumerate(methods):
        own = sorted((p for p in report.sweep if p.method == method), key=lambda p: p.k)
        mark, line = MARKS[place % len(MARKS)]
        axes.plot(
            [p.k for p in own], [100 * p.retained for p in own], marker=mark, linestyle=line,
            markersize=5, color=colours[place % len(colours)], label=shown(method),
        )  # fmt: skip
    if most := ceiling(report.sweep):
        axes.plot(
            list(most), [100 * share for share in most.values()], color=palette.soft,
            linestyle=(0, (1, 2)), label="no solution retains more",
        )  # fmt: skip
    axes.axvline(report.k, color=palette.soft, linewidth=0.8)
    ks = sorted({point.k for point in report.sweep})
    late = 2 * report.k > ks[0] + ks[-1]  # to the left of the line, where there is room
    axes.annotate(
        f"this release: k = {report.k}", (report.k, 1), xytext=(-4 if late else 4, -2),
        va="top", ha="right" if late else "left",
        xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    axes.set(xlabel="k", ylabel="% of keywords retained", ylim=(0, 100))
    axes.set_xticks(ks)
    axes.grid(visible=True)
    figure.legend(loc="outside lower center", ncols=len(methods) + 1)
    return figure


def ceiling(points: Sequence[SweepPoint]) -> dict[int, float]:
    """For each k the least share that no solution exceeds: every bound holds for all methods."""
    most: dict[int, float] = {}
    for point in sorted(points, key=lambda point: point.k):
        if point.most is not None:
            most[point.k] = min(point.most, most.get(point.k, 1.0))
    return most


def sizes_figure(report: Report, palette: Palette) -> "Figure":
    """Groups, and threads in them, by the number of users in a group."""
    found = bins(report.sizes, report.k)
    figure, (left, right) = _axes(0.8 + 0.3 * len(found), columns=2)
    for axes, name, colour in (
        (left, "groups", palette.first), (right, "threads", palette.second),
    ):  # fmt: skip
        values = [getattr(each, name) for each in found]
        _bars(axes, [each.label for each in found], values, colour)
        axes.set_title(name, fontsize=10, loc="left")
    left.set_ylabel(f"{report.certificate['unit']}s in a group")
    return figure


def losses_figure(report: Report, palette: Palette) -> "Figure":
    """Keywords by the cause of their deletion or addition."""
    figure, axes = _axes(2.2)
    values = [getattr(report.losses, name) for name in SHORT]
    _bars(axes, list(SHORT.values()), values, palette.first)
    axes.patches[-1].set_facecolor(palette.second)  # an addition among deletions
    return figure


def shown(text: str) -> str:
    """Text as it may be drawn or written: what cannot be seen is marked."""
    joiners = "\u200c\u200d"  # some scripts cannot be written without them
    return "".join(c if c.isprintable() or c in joiners else "\ufffd" for c in text)


def _axes(height: float, columns: int = 1) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, height), layout="constrained")
    return figure, figure.subplots(1, columns, sharey=columns > 1)


def _bars(axes: Any, labels: list[str], values: list[int], colour: str) -> None:  # noqa: ANN401 - of matplotlib
    """Bars from the top down, each with its number."""
    bars = axes.barh(range(len(labels)), values, color=colour, height=0.7)
    axes.bar_label(bars, [count(value) for value in values], padding=3, fontsize=9)
    axes.set_yticks(range(len(labels)), labels)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlim(0, 1.25 * max([*values, 1]))
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
