"""The HTML page of a report: a pure function of its data."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from setanon_dagster.report import decision_lines, tables, utility_tables
from setanon_dagster.report.decision import Decision
from setanon_dagster.report.drawing import FigureFunction, as_svg
from setanon_dagster.report.figures import (
    losses_caption,
    losses_figure,
    sizes_caption,
    sizes_figure,
    sweep_caption,
    sweep_figure,
)
from setanon_dagster.report.findings import findings, not_run, worst_first
from setanon_dagster.report.model import Report, Word
from setanon_dagster.report.personal_words import LISTED
from setanon_dagster.report.tables import Table, count, factor, share
from setanon_dagster.report.terms import definitions, nouns
from setanon_dagster.report.wording import SHARING, not_promised, printable, promised
from setanon_dagster.verifier.exposure import exposure_warning

if TYPE_CHECKING:
    from jinja2 import Environment

FIGURES: Final = ("sweep", "sizes", "losses")
"""Names of all figures; a report may lack some."""

MAX_WORD_LENGTH: Final = 80
"""Characters shown of a word."""


@dataclass(frozen=True, slots=True)
class CaptionedFigure:
    """A figure, its caption and its data as a table."""

    name: str
    svg: str | None
    caption: str
    table: Table


def page(report: Report) -> str:
    """Render the report as one self-contained HTML file; equal reports give equal bytes."""
    certificate = report.certificate
    k, unit = report.k, certificate["unit"]
    parameters = certificate["parameters"]
    typed, record = parameters.get("combinations") == "typed", parameters.get("unit", "thread")
    template = _environment().get_template("report.html.j2")
    return template.render(
        report=report,
        unit=unit,
        min_owners=certificate["min_owners"],
        cost=report.cost,
        verdict=report.verdict,
        digests=certificate["sha256"],
        tables=tables,
        utility=utility_tables,
        lines=decision_lines,
        nouns=nouns(report),
        definitions=definitions(report),
        attacks=worst_first(report),
        findings=[each.line for each in findings(report)],
        not_run=not_run(report),
        sharing=SHARING,
        personal_words=[line for line in decision_lines.personal_lines(report) if line[0].listed],
        most_listed=LISTED,
        figures=dict.fromkeys(FIGURES) | {each.name: each for each in _figures(report)},
        promised=promised(
            unit,
            k,
            certificate["min_owners"],
            form=certificate["format"],
            typed=typed,
            attributes=parameters.get("attributes", ""),
        ),
        shared="list of queries" if certificate["format"] == "queries" else "set",
        warning=exposure_warning(report.verdict, k, unit)
        if certificate["format"] == "edited"
        else "",
        not_promised=not_promised(unit, k, certificate["format"], typed=typed, record=record),
    )


def decision_place(decision: Decision | None) -> str:
    """Render the place of the decision: the decision, or lines to sign by hand."""
    parts = _environment().get_template("parts.html.j2").make_module()
    return str(parts.decision_place(decision)).strip()  # type: ignore[attr-defined]


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("setanon_dagster.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "count": count, "share": share, "factor": factor, "printable": printable, "word": _word,
        "short": _short,
    }  # fmt: skip
    return environment


def _word(word: Word) -> str:
    return _short(word.text)


def _short(word: str) -> str:
    """Printable text of a word, truncated if very long."""
    text = printable(word)
    return text if len(text) <= MAX_WORD_LENGTH else f"{text[:MAX_WORD_LENGTH]}…"


def _figures(report: Report) -> Iterator[CaptionedFigure]:
    def captioned(
        name: str, draw: FigureFunction, caption: Callable[[Report], str], table: Table
    ) -> CaptionedFigure:
        return CaptionedFigure(name, as_svg(draw, report, name), caption(report), table)

    if report.sweep:
        yield captioned("sweep", sweep_figure, sweep_caption, tables.sweep_table(report))
    if report.sizes:
        yield captioned("sizes", sizes_figure, sizes_caption, tables.sizes_table(report))
    if report.losses:
        yield captioned("losses", losses_figure, losses_caption, tables.losses_table(report))
