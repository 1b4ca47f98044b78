"""Utility of a release as tables: the five main measures in plain words, and all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Final

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.report.tables import NONE, Table, share

MAIN: Final = 5
"""Measures that are shown first."""

MAIN_MEASURES: Final[Mapping[str, str]] = {
    "next query: hits at 5": "next queries among 5 suggestions",
    "completion of the first word: hits at 5": "queries completed by 5 suggestions",
    "changes: kept": "changes from query to query that remain",
    "keywords: uses kept": "uses of keywords that remain",
    "keywords: top 100": "100 most frequent keywords that stay so",
    "frequent sets: top 100": "100 most frequent pairs and triples that stay so",
    "rules: top 100, recall": "100 strongest rules that stay so",
    "rules: top 100, confidence kept": "confidence of these rules that remains",
    "items: uses kept": "uses of items that remain",
    "items: top 100": "100 most frequent items that stay so",
}
"""The measures that are shown first, five of a log and five of baskets, in plain words."""


def main_measures(measures: Sequence[UtilityMeasure]) -> Iterator[UtilityMeasure]:
    """The five main measures, named in plain words; the first five if none was measured."""
    main = [each for each in measures if each.name in MAIN_MEASURES] or measures[:MAIN]
    for each in main:
        yield replace(each, name=MAIN_MEASURES.get(each.name, each.name))


def main_utility_table(measures: Sequence[UtilityMeasure]) -> Table:
    """The five main measures."""
    return _utility_table("Utility in five lines", main_measures(measures))


def utility_table(measures: Sequence[UtilityMeasure]) -> Table:
    """All measures of the original, of this release, and of a release by the paper's method."""
    return _utility_table("All measures", measures)


def value_texts(measure: UtilityMeasure) -> tuple[str, ...]:
    """The values for the original, this release, and a release by the paper's method.

    All are percentages, also a correlation, so that they are rounded alike.
    """
    values = (measure.original, measure.release, measure.paper)
    return tuple(share(value) if isfinite(value) else NONE for value in values)


def _utility_table(caption: str, measures: Iterable[UtilityMeasure]) -> Table:
    columns = ("measure", "original", "this release", "paper's method")
    return Table(caption, columns, tuple((each.name, *value_texts(each)) for each in measures))
