"""What Dagster is told of a release: the report's numbers, tables and a figure; never a word of it.

Every value is a count, a share, a name of a round or a path of our own making.
"""

from pathlib import Path
from typing import Any, Final

import dagster as dg

from setanon_dagster import metadata_keys as keys
from setanon_dagster.report import tables
from setanon_dagster.report.captions import losses_caption, sweep_caption
from setanon_dagster.report.figures import FigureFunction, as_png, losses_figure, sweep_figure
from setanon_dagster.report.model import Report
from setanon_dagster.report.tables import Table, count, factor, share

Value = dg.MetadataValue[Any]

PLOTTED: Final = ("additions", "deletions", "withdrawals", "respellings", "lower_bound")
"""Counts of the cost that Dagster plots over time."""


def numbers(report: Report) -> dict[str, Value]:
    """What Dagster plots from release to release; names and kinds of numbers never change."""
    cost, verdict = report.cost, report.verdict
    told: dict[str, Value] = {
        f"{keys.PREFIX}{name}": dg.MetadataValue.int(cost[name]) for name in PLOTTED
    }
    told[keys.RETAINED] = dg.MetadataValue.float(round(float(cost["retained"]), 4))
    if cost["factor"] is not None:  # the pages know no infinity
        told[keys.FACTOR] = dg.MetadataValue.float(float(cost["factor"]))
    told |= {
        keys.THREADS: dg.MetadataValue.int(verdict["records"]),
        keys.GROUPS: dg.MetadataValue.int(verdict["groups"]),
        keys.SMALLEST_GROUP: dg.MetadataValue.int(verdict["smallest_group"]),
        keys.VIOLATIONS: dg.MetadataValue.int(verdict["violations"]),
    }
    if report.losses is not None:
        told[keys.DELETED_AS_RARE] = dg.MetadataValue.int(
            report.losses.rare_published + report.losses.rare_withdrawn
        )
        told[keys.DELETED_IN_GROUPS] = dg.MetadataValue.int(report.losses.in_groups)
    return told


def cost_metadata(report: Report) -> dict[str, Value]:
    """Tables of the cost: round by round, and by cause."""
    told = {keys.COST_BY_ROUND: as_table(tables.rounds_table(report))} if report.rounds else {}
    if report.losses is not None:
        told[keys.COST_BY_CAUSE] = as_table(tables.losses_table(report))
    return told


def release_metadata(
    report: Report, page: Path | None = None, docs: Path | None = None
) -> dict[str, Value]:
    """All that is told of a release: numbers, tables, a summary with figures, and where to read on.

    `page` is the report, `docs` the first page of the Data Docs; both are private.
    """
    told = {
        keys.SUMMARY: dg.MetadataValue.md(summary(report)),
        **numbers(report),
        **cost_metadata(report),
    }
    if report.sizes:
        told[keys.GROUP_SIZES] = as_table(tables.sizes_table(report))
    if report.sweep:
        told[keys.COST_BY_K] = as_table(tables.sweep_table(report))
    for name, path in ((keys.REPORT, page), (keys.DATA_DOCS, docs)):
        if path is not None:
            told[name] = dg.MetadataValue.path(str(path.absolute()))
    return told


def summary(report: Report) -> str:
    """The verdict in a paragraph of Markdown, with one figure: Dagster keeps it with every run."""
    unit = report.certificate["unit"]
    verdict = (
        f"**Verified**: every published set is that of at least {report.k} {unit}s"
        if report.anonymous
        else "**Refused**: this must not be published"
    )
    said = (
        f"{verdict}. Smallest group: {count(report.verdict['smallest_group'])} {unit}s. "
        f"Retained: {share(report.cost['retained'])} of {count(report.cost['keywords'])} keywords. "
        f"Cost over the lower bound: {factor(report.cost['factor'])}."
    )
    for shown, draw, says in (
        (report.sweep, sweep_figure, sweep_caption),
        (report.losses, losses_figure, losses_caption),
    ):
        if shown:
            return f"{said}\n\n{says(report)}\n\n{_figure(report, draw)}".rstrip()
    return said


def as_table(table: Table) -> Value:
    """A table as Dagster shows it; repeated names of columns are told apart."""
    names = [name or "what" for name in table.columns]
    unique = [
        f"{name} of {names[place - 1]}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
    return dg.MetadataValue.table(
        [dg.TableRecord(dict(zip(unique, row, strict=True))) for row in table.rows],
        schema=dg.TableSchema([dg.TableColumn(name, "string") for name in unique]),
    )


def _figure(report: Report, draw: FigureFunction) -> str:
    image = as_png(draw, report)
    return "" if image is None else f"![figure](data:image/png;base64,{image})"
