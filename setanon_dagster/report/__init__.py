"""The release report: the page on which somebody decides whether a release may be handed out.

`inputs` has what the page is made from, `aggregates` counts it, `page` writes it, and `metadata`
says the same to Dagster. Counts go in, and nothing else, unless a sample of threads is asked for.
"""

from setanon_dagster.report.inputs import (
    GroupSize,
    Losses,
    Measure,
    Report,
    RoundCost,
    ShownThread,
    SweepPoint,
    Word,
    measures_of,
    sweep_points,
)
from setanon_dagster.report.page import page
from setanon_dagster.report.writing import REPORT, report_of, write_report

__all__ = [
    "REPORT",
    "GroupSize",
    "Losses",
    "Measure",
    "Report",
    "RoundCost",
    "ShownThread",
    "SweepPoint",
    "Word",
    "measures_of",
    "page",
    "report_of",
    "sweep_points",
    "write_report",
]
