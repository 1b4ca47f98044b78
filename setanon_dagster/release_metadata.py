"""Dagster metadata of a release: numbers, tables and one figure of its report, without data.

Every value is a count, a share, the name of a round, or a path.
"""

from pathlib import Path
from typing import Any, Final

import dagster as dg

from setanon_dagster import metadata_keys as keys
from setanon_dagster.report import tables
from setanon_dagster.report.drawing import FigureFunction, as_png
from setanon_dagster.report.figures import (
    losses_caption,
    losses_figure,
    sweep_caption,
    sweep_figure,
)
from setanon_dagster.report.model import Report
from setanon_dagster.report.tables import Table, count, factor, share
from setanon_dagster.report.wording import round_factor

Value = dg.MetadataValue[Any]

COST_COUNTS: Final = ("additions", "deletions", "withdrawals", "respellings", "lower_bound")
"""Counts of the cost that Dagster plots over time."""


def release_metadata(
    report: Report, page: Path | None = None, docs: Path | None = None
) -> dict[str, Value]:
    """All metadata of a release: summary, numbers, tables and paths.

    `page` is the report, `docs` the index of the Data Docs; both are private.
    """
    metadata = {
        keys.SUMMARY: dg.MetadataValue.md(summary(report)),
        **numbers(report),
        **cost_metadata(report),
    }
    if report.sizes:
        metadata[keys.GROUP_SIZES] = as_table(tables.sizes_table(report))
    if report.sweep:
        metadata[keys.COST_BY_K] = as_table(tables.sweep_table(report))
    for key, path in ((keys.REPORT, page), (keys.DATA_DOCS, docs)):
        if path is not None:
            metadata[key] = dg.MetadataValue.path(str(path.absolute()))
    return metadata


def numbers(report: Report) -> dict[str, Value]:
    """Numbers that Dagster plots over time; keys and types are the same for each release."""
    cost, verdict = report.cost, report.verdict
    metadata: dict[str, Value] = {
        f"{keys.PREFIX}{name}": dg.MetadataValue.int(cost[name]) for name in COST_COUNTS
    }
    metadata[keys.RETAINED] = dg.MetadataValue.float(round(float(cost["retained"]), 4))
    if cost["factor"] is not None:  # None is infinite, which the Dagster UI cannot plot
        metadata[keys.FACTOR] = dg.MetadataValue.float(round_factor(cost["factor"]))
    metadata |= {
        keys.THREADS: dg.MetadataValue.int(verdict["records"]),
        keys.GROUPS: dg.MetadataValue.int(verdict["groups"]),
        keys.SMALLEST_GROUP: dg.MetadataValue.int(verdict["smallest_group"]),
        keys.VIOLATIONS: dg.MetadataValue.int(verdict["violations"]),
    }
    if report.losses is not None:
        metadata[keys.DELETED_AS_RARE] = dg.MetadataValue.int(
            report.losses.rare_published + report.losses.rare_withdrawn
        )
        metadata[keys.DELETED_IN_GROUPS] = dg.MetadataValue.int(report.losses.in_groups)
    return metadata


def cost_metadata(report: Report) -> dict[str, Value]:
    """Tables of the cost: by round and by cause."""
    metadata = {keys.COST_BY_ROUND: as_table(tables.rounds_table(report))} if report.rounds else {}
    if report.losses is not None:
        metadata[keys.COST_BY_CAUSE] = as_table(tables.losses_table(report))
    return metadata


def summary(report: Report) -> str:
    """Verdict as a Markdown paragraph, with at most one figure: Dagster stores it for each run."""
    unit = report.certificate["unit"]
    shared = "list of queries" if report.certificate["format"] == "queries" else "set"
    verdict = (
        f"**Verified**: every published {shared} is shared by at least {report.k} {unit}s"
        if report.anonymous
        else "**Refused**: this release must not be published"
    )
    text = (
        f"{verdict}. Smallest group: {count(report.verdict['smallest_group'])} {unit}s. "
        f"Retained: {share(report.cost['retained'])} of {count(report.cost['keywords'])} keywords. "
        f"Cost divided by lower bound: {factor(report.cost['factor'])}."
    )
    if report.sweep:
        text += f"\n\n{sweep_caption(report)}\n\n{_figure(report, sweep_figure)}"
    elif report.losses:
        text += f"\n\n{losses_caption(report)}\n\n{_figure(report, losses_figure)}"
    return text.rstrip()


def as_table(table: Table) -> Value:
    """Table as Dagster metadata; a repeated column name is extended by the previous column's."""
    names = table.columns
    unique = [
        f"{name} of {names[index - 1]}" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]
    return dg.MetadataValue.table(
        [dg.TableRecord(dict(zip(unique, row, strict=True))) for row in table.rows],
        schema=dg.TableSchema([dg.TableColumn(name, "string") for name in unique]),
    )


def _figure(report: Report, draw: FigureFunction) -> str:
    image = as_png(draw, report)
    return "" if image is None else f"![figure](data:image/png;base64,{image})"
