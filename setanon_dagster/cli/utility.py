"""The command `utility`: utility measures as lines of text; nothing is published."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.cli.dry_run import raw_table
from setanon_dagster.config import ReleaseConfig
from setanon_dagster.report.comparison import table_utility
from setanon_dagster.report.utility_tables import main_measures, value_texts

NAME_WIDTH: Final = 48

HEADER: Final = (
    f"{'measure':<{NAME_WIDTH}} {'original':>9} {'release':>9} {'paper':>9} {'cases':>11}"
)


def source_utility(config: ReleaseConfig) -> tuple[UtilityMeasure, ...]:
    """Utility of a release with this configuration, for a log or baskets; publishes nothing."""
    return table_utility(raw_table(config), config.source.kind, config.params())


def format_main(measures: Sequence[UtilityMeasure]) -> Iterator[str]:
    """One line per main measure, and one that says how many there are in all."""
    main = list(main_measures(measures))
    yield from format_measures(main)
    if len(main) < len(measures):
        yield f"\n{len(main)} of {len(measures)} measures; --all prints all of them."


def format_measures(measures: Iterable[UtilityMeasure]) -> Iterator[str]:
    """One line per measure, below the header."""
    for measure in measures:
        cells = " ".join(f"{text:>9}" for text in value_texts(measure))
        yield f"{measure.name:<{NAME_WIDTH}} {cells} {measure.cases:>11,}"
