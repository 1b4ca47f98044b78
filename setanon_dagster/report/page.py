"""The page, as text: a pure function of a report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from setanon_dagster.report import tables
from setanon_dagster.report.figures import (
    Drawn,
    as_svg,
    ceiling,
    losses_figure,
    shown,
    sizes_figure,
    sweep_figure,
)
from setanon_dagster.report.model import Report, Word
from setanon_dagster.report.tables import Table, count, factor, of, share
from setanon_dagster.report.wording import CAUSES, SHARING, cause, not_promised, promised

if TYPE_CHECKING:
    from jinja2 import Environment

FIGURES: Final = ("sweep", "sizes", "losses")
"""All that there may be, by name."""

LONGEST_WORD: Final = 80
"""Letters of a word that are shown."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure, the sentence for those who cannot see it, and its data."""

    name: str
    svg: str | None
    says: str
    table: Table


def page(report: Report) -> str:
    """Write the report as one file that needs no other; the same report gives the same bytes."""
    certificate = report.certificate
    k, unit = report.k, certificate["unit"]
    template = _environment().get_template("report.html.j2")
    return template.render(
        report=report,
        unit=unit,
        cost=report.cost,
        verdict=report.verdict,
        digests=certificate["sha256"],
        tables=tables,
        sharing=SHARING,
        drawings=dict.fromkeys(FIGURES) | {each.name: each for each in _drawings(report)},
        promised=promised(unit, k, certificate["min_owners"]),
        not_promised=not_promised(unit, k, certificate["format"]),
    )


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
        "count": count, "share": share, "factor": factor, "shown": shown, "word": word,
    }  # fmt: skip
    return environment


def word(each: Word) -> str:
    """A word as it is shown; a very long one is cut."""
    text = shown(each.text)
    return text if len(text) <= LONGEST_WORD else f"{text[:LONGEST_WORD]}…"


def _drawings(report: Report) -> Iterator[Drawing]:
    def drawn(name: str, draw: Drawn, says: Callable[[Report], str], table: Table) -> Drawing:
        return Drawing(name, as_svg(draw, report, name), says(report), table)

    if report.sweep:
        yield drawn("sweep", sweep_figure, says_sweep, tables.sweep_table(report))
    if report.sizes:
        yield drawn("sizes", sizes_figure, says_sizes, tables.sizes_table(report))
    if report.losses:
        yield drawn("losses", losses_figure, says_losses, tables.losses_table(report))


def says_sweep(report: Report) -> str:
    """The sweep in words: what is retained at its first k, at the release's and at its last."""
    ks = sorted({point.k for point in report.sweep})
    most = ceiling(report.sweep)
    said = [f"Share of the keywords retained, for k from {ks[0]} to {ks[-1]}."]
    for k in sorted({ks[0], ks[-1], *({report.k} & set(ks))}):
        own = [f"{p.method} {share(p.retained)}" for p in report.sweep if p.k == k]
        bound = f"; no solution retains more than {share(most[k])}" if k in most else ""
        said.append(f"At k = {k}: {', '.join(own)}{bound}.")
    return shown(" ".join(said))


def says_sizes(report: Report) -> str:
    """The sizes of groups in words."""
    unit, groups = report.certificate["unit"], sum(size.groups for size in report.sizes)
    least = sum(size.groups for size in report.sizes if size.users == report.k)
    return (
        f"{count(groups)} groups; {count(least)} of them, {of(least, groups)}, have exactly "
        f"k = {report.k} {unit}s, and the largest has {count(report.sizes[-1].users)}."
    )


def says_losses(report: Report) -> str:
    """The causes of the cost in words: the largest of them."""
    lost = {name: getattr(report.losses, name) for name in CAUSES}
    whole, name = sum(lost.values()), max(lost, key=lambda each: lost[each])
    why = cause(name, report.certificate["min_owners"], report.certificate["unit"])
    return f"The largest cause, with {of(lost[name], whole)} of the cost: {why}."
