"""The result of an attack: figures for the raw log, the release and the paper's method."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Final, Generic, Literal, NamedTuple, TypeVar

V = TypeVar("V")
W = TypeVar("W")

Unit = Literal["share", "score", "count"]
"""A share is shown in percent; a score, such as an AUC, is not a share of anything."""

NO_VALUE: Final = "-"
"""Shown for a figure that does not apply, such as lists of queries in a release of sets."""

SMALLEST_SHARE: Final = 0.001
"""Smaller shares are shown as smaller than this: one person must not be rounded to none."""


class Attacked(NamedTuple, Generic[V]):
    """A value for each attacked version of the data; `paper` is None if it is not compared."""

    raw: V
    release: V
    paper: V | None = None

    def __repr__(self) -> str:
        """The names only: a traceback or a log must not show any data."""
        return "Attacked(raw, release, paper)"

    def map(self, function: Callable[[V], W]) -> "Attacked[W]":
        """Apply the function to each version."""
        paper = None if self.paper is None else function(self.paper)
        return Attacked(function(self.raw), function(self.release), paper)


@dataclass(frozen=True, slots=True)
class RiskFigure:
    """One number of an attack for each version; NaN if it does not apply. Contains no data."""

    name: str
    raw: float
    release: float
    paper: float = nan
    unit: Unit = "share"

    @property
    def cells(self) -> tuple[str, str, str]:
        """The numbers as text: shares in percent."""
        raw, release, paper = (self._cell(value) for value in (self.raw, self.release, self.paper))
        return raw, release, paper

    def _cell(self, value: float) -> str:
        if not isfinite(value):
            return NO_VALUE
        if self.unit == "share" and 0 < value < SMALLEST_SHARE:
            return f"<{SMALLEST_SHARE:.1%}"
        return {"share": f"{value:.1%}", "score": f"{value:.3f}", "count": f"{value:,.0f}"}[
            self.unit
        ]


@dataclass(frozen=True, slots=True)
class AttackResult:
    """An attack: what the attacker does, its figures, and one sentence about the release."""

    name: str
    meaning: str
    sentence: str
    figures: tuple[RiskFigure, ...]

    @property
    def has_values(self) -> bool:
        """Whether a figure applies to the original or the release."""
        return any(isfinite(value) for each in self.figures for value in (each.raw, each.release))


def figure(
    name: str, results: Attacked[V], value: Callable[[V], float | None], unit: Unit = "share"
) -> RiskFigure:
    """Compute one figure for each version; None is a figure that does not apply."""

    def number(result: V | None) -> float:
        found = None if result is None else value(result)
        return nan if found is None else float(found)

    return RiskFigure(
        name, number(results.raw), number(results.release), number(results.paper), unit
    )


def has_paper(results: Iterable[AttackResult]) -> bool:
    """Whether at least one figure has a value for the paper's method."""
    return any(isfinite(each.paper) for result in results for each in result.figures)
