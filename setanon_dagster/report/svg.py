"""Figures of matplotlib as text: inline SVG that follows the colours of the page, or a PNG."""

import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a figure, by what they are for."""

    ink: str
    soft: str
    line: str
    first: str
    second: str


PAGE: Final = Palette("#fe0101", "#fe0102", "#fe0103", "#fe0104", "#fe0105")
"""Colours that no figure has: each stands for the page's variable of its name."""

PAPER: Final = Palette("#1b1f24", "#57606a", "#c3cad2", "#0a57a4", "#a63d00")
"""For white paper, whatever is around it."""


@contextmanager
def drawing(palette: Palette) -> Iterator[None]:
    """Draw alike everywhere, whatever style the user of the machine has set."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.fonttype": "none",  # words stay words, in the font of the page
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


def inline_svg(figure: "Figure", name: str) -> str:
    """The figure as an element of a page: no date, no ids of other figures, no colours of its own.

    Those who listen hear what the page says of it: the element itself is hidden from them.
    """
    buffer = StringIO()
    untold = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(buffer, format="svg", transparent=True, metadata=untold)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    # Two figures of one page must not have the same ids.
    text = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", text)
    for variable, colour in asdict(PAGE).items():
        text = text.replace(colour, f"var(--{variable})")
    width, height = (72 * inches for inches in figure.get_size_inches())
    head = f'<svg viewBox="0 0 {width:g} {height:g}" aria-hidden="true" focusable="false">'
    return head + text[text.index(">") + 1 :].strip()


def png(figure: "Figure") -> str:
    """The figure on white paper, in base64."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=96, facecolor="white", metadata={"Software": None})
    return b64encode(buffer.getvalue()).decode("ascii")
