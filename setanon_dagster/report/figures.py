"""Figures of a report with their captions, which are computed from the numbers of the report."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from setanon_dagster.report.drawing import Look
from setanon_dagster.report.model import Report, SweepPoint
from setanon_dagster.report.tables import count, percentage, share, size_bins
from setanon_dagster.report.wording import CAUSES, SHORT_CAUSES, cause, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE_STYLES: Final = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))
"""Marker and dashes of each line, so that lines do not differ by color alone."""

DIGIT: Final = 6.5
"""Width of a digit of a label, in points; other characters are not wider on average."""

GAP: Final = 4
"""Least distance of two labels, in points."""


def sweep_figure(report: Report, look: Look) -> "Figure":
    """Share retained against k: one line per method, and the upper bound."""
    figure, axes = _axes(look, 3.4 if look.narrow else 3.0)
    palette = look.palette
    methods = list(dict.fromkeys(point.method for point in report.sweep))
    colors = (palette.first, palette.second, palette.ink, palette.soft)
    for index, method in enumerate(methods):
        points = sorted((p for p in report.sweep if p.method == method), key=lambda p: p.k)
        marker, dashes = LINE_STYLES[index % len(LINE_STYLES)]
        axes.plot(
            [p.k for p in points], [100 * p.retained for p in points], marker=marker,
            linestyle=dashes, markersize=5, color=colors[index % len(colors)],
            label=printable(method),
        )  # fmt: skip
    if bounds := upper_bounds(report.sweep):
        axes.plot(
            list(bounds), [100 * bound for bound in bounds.values()], color=palette.soft,
            linestyle=(0, (1, 2)), label="upper bound of any solution",
        )  # fmt: skip
    axes.axvline(report.k, color=palette.soft, linewidth=0.8)
    ks = sorted({point.k for point in report.sweep})
    # Above the axes: inside, grid lines and curves would cross the label.
    axes.annotate(
        f"this release: k = {report.k}", (report.k, 1), xytext=(0, 3),
        va="bottom", ha="right" if 2 * report.k > ks[0] + ks[-1] else "left",
        xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=9,
    )  # fmt: skip
    axes.set(xlabel="k", ylabel="% of keywords retained", ylim=(0, 100))
    axes.set_xticks(spaced_ticks(ks, report.k, 72 * look.width - 60))
    axes.grid(visible=True)
    figure.legend(loc="outside lower center", ncols=1 if look.narrow else len(methods) + 1)
    return figure


def spaced_ticks(ks: Sequence[int], k: int, width: float) -> list[int]:
    """Values of k whose labels fit side by side on an axis of this width in points; k is one.

    >>> spaced_ticks([2, 3, 5, 10, 19, 20], 19, 200)
    [2, 3, 5, 10, 19]
    """
    scale = width / max(max(ks) - min(ks), 1)
    chosen: list[int] = []
    for each in dict.fromkeys([*({k} & {*ks}), *reversed(ks)]):
        if all(
            abs(each - other) * scale >= DIGIT * len(str(max(each, other))) + GAP
            for other in chosen
        ):
            chosen.append(each)
    return sorted(chosen)


def sweep_caption(report: Report) -> str:
    """Share retained at the smallest and the largest k of the sweep, and at the release's k."""
    ks = sorted({point.k for point in report.sweep})
    bounds = upper_bounds(report.sweep)
    sentences = [f"Share of the keywords retained, for k from {ks[0]} to {ks[-1]}."]
    for k in sorted({ks[0], ks[-1], *({report.k} & set(ks))}):
        shares = [f"{p.method} {share(p.retained)}" for p in report.sweep if p.k == k]
        bound = f"; no solution retains more than {share(bounds[k])}" if k in bounds else ""
        sentences.append(f"At k = {k}: {', '.join(shares)}{bound}.")
    return printable(" ".join(sentences))


def upper_bounds(points: Sequence[SweepPoint]) -> dict[int, float]:
    """Least upper bound of the share retained, by k: a bound of one method holds for all."""
    bounds: dict[int, float] = {}
    for point in sorted(points, key=lambda point: point.k):
        if point.upper_bound is not None:
            bounds[point.k] = min(point.upper_bound, bounds.get(point.k, 1.0))
    return bounds


def sizes_figure(report: Report, look: Look) -> "Figure":
    """Groups, and threads in them, by users per group: side by side, or one above the other."""
    bins = size_bins(report.sizes, report.k)
    height = 0.8 + 0.3 * len(bins)
    figure, both = _axes(look, height * (2 if look.narrow else 1), panels=2)
    labels, palette = [each.label for each in bins], look.palette
    width = 72 * look.width / (1 if look.narrow else 2)
    colors = {"groups": palette.first, "threads": palette.second}
    for axes, (name, color) in zip(both, colors.items(), strict=True):
        _bars(axes, width, labels, [getattr(each, name) for each in bins], color)
        axes.set_title(name, fontsize=10, loc="left")
    for axes in both if look.narrow else both[:1]:
        axes.set_ylabel(f"{report.certificate['unit']}s per group")
    return figure


def sizes_caption(report: Report) -> str:
    """Number of groups, of groups with exactly k users, and users of the largest group."""
    unit, groups = report.certificate["unit"], sum(size.groups for size in report.sizes)
    smallest = sum(size.groups for size in report.sizes if size.users == report.k)
    return (
        f"{count(groups)} groups; {count(smallest)} of them, {percentage(smallest, groups)}, have "
        f"exactly k = {report.k} {unit}s, and the largest has {count(report.sizes[-1].users)}."
    )


def losses_figure(report: Report, look: Look) -> "Figure":
    """Additions and deletions by cause."""
    figure, axes = _axes(look, 2.2)
    values = [getattr(report.losses, name) for name in SHORT_CAUSES]
    labels = list(SHORT_CAUSES.values())
    _bars(axes, 72 * look.width, labels, values, look.palette.first)
    axes.patches[-1].set_facecolor(look.palette.second)  # additions; the others are deletions
    return figure


def losses_caption(report: Report) -> str:
    """Largest cause of the cost."""
    counts = {name: getattr(report.losses, name) for name in CAUSES}
    total, largest = sum(counts.values()), max(counts, key=lambda name: counts[name])
    sentence = cause(largest, report.certificate["min_owners"], report.certificate["unit"])
    return f"The largest cause, with {percentage(counts[largest], total)} of the cost: {sentence}."


def _axes(look: Look, height: float, panels: int = 1) -> tuple["Figure", Any]:
    """A figure with panels side by side; one above the other on a narrow screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(look.width, height), layout="constrained")
    shape = (panels, 1) if look.narrow else (1, panels)
    return figure, figure.subplots(*shape, sharey=panels > 1 and not look.narrow)


def _bars(
    axes: Any,  # noqa: ANN401 - of matplotlib
    width: float,
    labels: list[str],
    values: list[int],
    color: str,
) -> None:
    """Horizontal bars from top to bottom, each labeled with its value.

    `width` is that of the axes with the labels on the left, in points.
    """
    bars = axes.barh(range(len(labels)), values, color=color, height=0.7)
    texts = [count(value) for value in values]
    axes.bar_label(bars, texts, padding=3, fontsize=9)
    axes.set_yticks(range(len(labels)), labels)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.set_xticks([])
    # Room for the label of the longest bar, in what the labels on the left leave.
    room = width - DIGIT * max(map(len, labels)) - 6 * GAP
    longest = max(room - DIGIT * max(map(len, texts)) - GAP, room / 4)
    axes.set_xlim(0, room / longest * max([*values, 1]))
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)
