"""Draw a figure as inline SVG in the style of the page, or as PNG; None without matplotlib."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Final

from setanon_dagster.report.model import Report

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


@dataclass(frozen=True, slots=True)
class Look:
    """Colors of a figure, and whether it is drawn for a narrow screen."""

    palette: Palette
    narrow: bool = False

    @property
    def width(self) -> float:
        """Inches. A narrow figure is shown nearly at this size: its text must not shrink."""
        return 3.6 if self.narrow else 7.2


FigureFunction = Callable[[Report, Look], "Figure"]

PLACEHOLDERS: Final = Palette("#fe0101", "#fe0102", "#fe0103", "#fe0104", "#fe0105")
"""Unused colors; in an inline SVG each is replaced by the CSS variable of its field."""

LIGHT: Final = Palette("#1b1f24", "#57606a", "#c3cad2", "#0a57a4", "#a63d00")
"""Colors for a white background."""


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def as_svg(draw: FigureFunction, report: Report, name: str) -> str | None:
    """Figure as inline SVG with the colors of the page; None without matplotlib.

    It is drawn twice: the style of the page shows one for wide screens and paper, one for phones.
    """
    if not can_draw():
        return None
    with _style(PLACEHOLDERS):
        wide = _inline_svg(draw(report, Look(PLACEHOLDERS)), name, "wide")
        narrow = draw(report, Look(PLACEHOLDERS, narrow=True))
        return wide + _inline_svg(narrow, f"{name}-narrow", "narrow")


def as_png(draw: FigureFunction, report: Report) -> str | None:
    """Figure on white as a base64 PNG; None without matplotlib."""
    if not can_draw():
        return None
    with _style(LIGHT):
        buffer = BytesIO()
        draw(report, Look(LIGHT)).savefig(
            buffer, format="png", dpi=96, facecolor="white", metadata={"Software": None}
        )
    return b64encode(buffer.getvalue()).decode("ascii")


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


def _inline_svg(figure: "Figure", name: str, kind: str) -> str:
    """SVG element of class `kind`, without date, fonts and fixed colors; ids start with `name`.

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
    box = f'viewBox="0 0 {width:g} {height:g}"'
    head = f'<svg class="{kind}" {box} aria-hidden="true" focusable="false">'
    return head + text[text.index(">") + 1 :].strip()
