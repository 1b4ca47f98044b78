"""Figures of a report with their captions; inline SVG or PNG, None if matplotlib is not installed.

Captions are computed from the numbers of the report.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any, Final

from setanon_dagster.report.model import Report, SweepPoint
from setanon_dagster.report.tables import count, percentage, share, size_bins
from setanon_dagster.report.wording import CAUSES, SHORT_CAUSES, cause, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Palette:
    """Colors of a figure by purpose; the field names are CSS variables of the page."""

    ink: str
    soft: str
    line: str
    first: str
    second: str


FigureFunction = Callable[[Report, Palette], "Figure"]

PLACEHOLDERS: Final = Palette("#fe0101", "#fe0102", "#fe0103", "#fe0104", "#fe0105")
"""Unused colors; in an inline SVG each is replaced by the CSS variable of its field."""

LIGHT: Final = Palette("#1b1f24", "#57606a", "#c3cad2", "#0a57a4", "#a63d00")
"""Colors for a white background."""

WIDTH: Final = 7.2
"""Inches."""

LINE_STYLES: Final = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))
"""Marker and dashes of each line, so that lines do not differ by color alone."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def as_svg(draw: FigureFunction, report: Report, name: str) -> str | None:
    """Figure as inline SVG with the colors of the page; None without matplotlib."""
    if not can_draw():
        return None
    with _style(PLACEHOLDERS):
        return _inline_svg(draw(report, PLACEHOLDERS), name)


def as_png(draw: FigureFunction, report: Report) -> str | None:
    """Figure on white as a base64 PNG; None without matplotlib."""
    if not can_draw():
        return None
    with _style(LIGHT):
        buffer = BytesIO()
        draw(report, LIGHT).savefig(
            buffer, format="png", dpi=96, facecolor="white", metadata={"Software": None}
        )
    return b64encode(buffer.getvalue()).decode("ascii")


def sweep_figure(report: Report, palette: Palette) -> "Figure":
    """Share retained against k: one line per method, and the upper bound."""
    figure, axes = _axes(3.4)
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
    axes.set_xticks(ks)
    axes.grid(visible=True)
    figure.legend(loc="outside lower center", ncols=len(methods) + 1)
    return figure


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


def sizes_figure(report: Report, palette: Palette) -> "Figure":
    """Groups, and threads in them, by users per group."""
    bins = size_bins(report.sizes, report.k)
    figure, (left, right) = _axes(0.8 + 0.3 * len(bins), columns=2)
    for axes, name, color in (
        (left, "groups", palette.first), (right, "threads", palette.second),
    ):  # fmt: skip
        values = [getattr(each, name) for each in bins]
        _bars(axes, [each.label for each in bins], values, color)
        axes.set_title(name, fontsize=10, loc="left")
    left.set_ylabel(f"{report.certificate['unit']}s per group")
    return figure


def sizes_caption(report: Report) -> str:
    """Number of groups, of groups with exactly k users, and users of the largest group."""
    unit, groups = report.certificate["unit"], sum(size.groups for size in report.sizes)
    smallest = sum(size.groups for size in report.sizes if size.users == report.k)
    return (
        f"{count(groups)} groups; {count(smallest)} of them, {percentage(smallest, groups)}, have "
        f"exactly k = {report.k} {unit}s, and the largest has {count(report.sizes[-1].users)}."
    )


def losses_figure(report: Report, palette: Palette) -> "Figure":
    """Additions and deletions by cause."""
    figure, axes = _axes(2.2)
    values = [getattr(report.losses, name) for name in SHORT_CAUSES]
    _bars(axes, list(SHORT_CAUSES.values()), values, palette.first)
    axes.patches[-1].set_facecolor(palette.second)  # additions; all other bars are deletions
    return figure


def losses_caption(report: Report) -> str:
    """Largest cause of the cost."""
    counts = {name: getattr(report.losses, name) for name in CAUSES}
    total, largest = sum(counts.values()), max(counts, key=lambda name: counts[name])
    sentence = cause(largest, report.certificate["min_owners"], report.certificate["unit"])
    return f"The largest cause, with {percentage(counts[largest], total)} of the cost: {sentence}."


def _axes(height: float, columns: int = 1) -> tuple["Figure", Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(1, columns, sharey=columns > 1)


def _bars(axes: Any, labels: list[str], values: list[int], color: str) -> None:  # noqa: ANN401 - of matplotlib
    """Horizontal bars from top to bottom, each labeled with its value."""
    bars = axes.barh(range(len(labels)), values, color=color, height=0.7)
    axes.bar_label(bars, [count(value) for value in values], padding=3, fontsize=9)
    axes.set_yticks(range(len(labels)), labels)
    if not axes.yaxis_inverted():
        axes.invert_yaxis()
    axes.set_xticks([])
    axes.set_xlim(0, 1.25 * max([*values, 1]))
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0)


@contextmanager
def _style(palette: Palette) -> Iterator[None]:
    """Use our style instead of the user's matplotlib settings."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",  # text stays text, in the font of the page
                "svg.hashsalt": "setanon",
                "text.parse_math": False,
                "font.size": 10,
                "text.color": palette.ink,
                "axes.labelcolor": palette.ink,
                "axes.edgecolor": palette.soft,
                "xtick.color": palette.soft,
                "ytick.color": palette.soft,
                "xtick.labelcolor": palette.ink,
                "ytick.labelcolor": palette.ink,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.axisbelow": True,
                "grid.color": palette.line,
                "grid.linewidth": 0.6,
                "legend.frameon": False,
            }
        )
        yield


def _inline_svg(figure: "Figure", name: str) -> str:
    """SVG element without date, fonts and fixed colors; ids are prefixed with `name`.

    Screen readers skip it: the caption describes the figure.
    """
    buffer = StringIO()
    omitted = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=omitted)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Ids must be unique in the page, which has several figures.
    text = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    for variable, color in asdict(PLACEHOLDERS).items():
        text = text.replace(color, f"var(--{variable})")
    width, height = (72 * inches for inches in figure.get_size_inches())
    head = f'<svg viewBox="0 0 {width:g} {height:g}" aria-hidden="true" focusable="false">'
    return head + text[text.index(">") + 1 :].strip()
