"""A utility measure: its values for the original, the release and the paper's release."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from setanon_core.columns.tables import TableConstructor
from setanon_core.model.table_result import TableResult

V = TypeVar("V")
W = TypeVar("W")


class Versions(NamedTuple, Generic[V]):
    """A value for each version of the data."""

    original: V
    release: V
    paper: V
    """By the paper's method."""

    def __repr__(self) -> str:
        """The names only: a traceback or a log must not show any data."""
        return "Versions(original, release, paper)"

    def map(self, function: Callable[[V], W]) -> "Versions[W]":
        """Apply the function to each version."""
        return Versions(function(self.original), function(self.release), function(self.paper))


@dataclass(frozen=True, slots=True)
class UtilityMeasure:
    """A measure with its three values; NaN if there are no cases. Contains no keyword."""

    name: str
    meaning: str
    original: float
    release: float
    paper: float
    cases: int
    """The denominator of the original's value."""


@dataclass(frozen=True, slots=True, repr=False)
class Utility(TableResult):
    """The result of `utility_of`: one measure per row."""

    measures: tuple[UtilityMeasure, ...]
    constructor: TableConstructor = field(default=dict, kw_only=True, compare=False)

    def __repr__(self) -> str:
        """The number of measures only."""
        return f"Utility({len(self.measures)} measures)"

    def __iter__(self) -> Iterator[UtilityMeasure]:
        """The measures."""
        return iter(self.measures)

    def __len__(self) -> int:
        """The number of measures."""
        return len(self.measures)

    def table_columns(self) -> dict[str, list[Any]]:
        """One row per measure."""
        return {
            "measure": [measure.name for measure in self.measures],
            "meaning": [measure.meaning for measure in self.measures],
            "original": [measure.original for measure in self.measures],
            "release": [measure.release for measure in self.measures],
            "paper": [measure.paper for measure in self.measures],
            "cases": [measure.cases for measure in self.measures],
        }


def measure(
    name: str, meaning: str, versions: Versions[V], value: Callable[[V], float], cases: int
) -> UtilityMeasure:
    """Compute the value of a measure for each version."""
    return UtilityMeasure(name, meaning, *versions.map(value), cases)


def share(part: float, total: float) -> float:
    """`part / total`, or NaN if the total is 0."""
    return part / total if total else float("nan")


def recall(expected: Sequence[object], actual: Iterable[object]) -> float:
    """Share of the expected values, which are distinct, that are among the actual ones.

    >>> recall(["tea", "milk"], {"milk", "rum"})
    0.5
    """
    return share(len(set(expected).intersection(actual)), len(expected))
