"""The command `utility`: utility measures as lines of text; nothing is published."""

from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Final

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.cli.dry_run import raw_table
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.report.comparison import table_utility

NAME_WIDTH: Final = 46

HEADER: Final = (
    f"{'measure':<{NAME_WIDTH}} {'original':>9} {'release':>9} {'paper':>9} {'cases':>11}"
)


def source_utility(config: ReleaseConfig) -> tuple[UtilityMeasure, ...]:
    """Utility of a release with this configuration, for a log or baskets; publishes nothing."""
    return table_utility(raw_table(config), config.source.kind, config.params())


def format_measures(measures: Iterable[UtilityMeasure]) -> Iterator[str]:
    """One line per measure, below the header."""
    for measure in measures:
        cells = " ".join(
            _cell(value) for value in (measure.original, measure.release, measure.paper)
        )
        yield f"{measure.name:<{NAME_WIDTH}} {cells} {measure.cases:>11,}"


def _cell(value: float) -> str:
    return f"{value:9.3f}" if isfinite(value) else f"{'-':>9}"
