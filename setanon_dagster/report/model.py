"""What a report is made from: counts of one release, and a few threads if somebody asks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, Literal, Protocol

Change = Literal["kept", "deleted", "added"]
Scale = Literal["share", "count", "number"]

PLAIN: Final = frozenset({"k", "records", "groups", "smallest_group"})
"""What a verdict counts that is no fault; whatever else it counts must be zero."""


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What the release would have cost, had it ended after this round."""

    name: str
    additions: int
    deletions: int
    withdrawals: int

    @property
    def total(self) -> int:
        """Additions and deletions."""
        return self.additions + self.deletions


@dataclass(frozen=True, slots=True)
class GroupSize:
    """How many groups have so many users, and how many threads are in them."""

    users: int
    groups: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Where keywords of threads were lost, and which threads; every deletion is in one of four."""

    rare_kept: int
    """Keywords that too few users hold, in threads that are published."""

    rare_withdrawn: int
    """Keywords that too few users hold, in threads that are withdrawn."""

    other_withdrawn: int
    """All other keywords of withdrawn threads."""

    in_groups: int
    """All other keywords deleted: those that the rest of a group does not have."""

    added: int
    """Keywords added to threads because the rest of a group has them."""

    hopeless_threads: int
    """Withdrawn threads without any keyword that enough users hold."""

    lonely_threads: int
    """All other withdrawn threads: keeping them would have cost more than they hold."""

    @property
    def deleted(self) -> int:
        """All deletions."""
        return self.rare_kept + self.rare_withdrawn + self.other_withdrawn + self.in_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """What a release would retain for another k, or by another method."""

    k: int
    method: str
    retained: float
    additions: int
    deletions: int
    withdrawals: int
    most: float | None = None
    """The share of the keywords that no solution exceeds, if a lower bound is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One measure of use, of the original, the release and the paper's way; None is not known."""

    name: str
    original: float | None = None
    release: float | None = None
    paper: float | None = None
    scale: Scale = "number"
    """How its numbers are written: a share in per cent, a whole count, or four digits."""

    note: str = ""
    """A sentence on what it means, without data."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query, and what became of it. Private."""

    text: str
    change: Change


@dataclass(frozen=True, slots=True)
class ShownThread:
    """A thread before and after, query by query. Private: these are somebody's words."""

    queries: tuple[tuple[Word, ...], ...]
    withdrawn: bool = False

    def count(self, change: Change) -> int:
        """How many words of the queries went this way."""
        return sum(word.change == change for query in self.queries for word in query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that the page says."""

    name: str
    """Of the release."""

    certificate: Mapping[str, Any]
    """As it is published: parameters, cost, verdict, digest and versions."""

    rounds: tuple[RoundCost, ...] = ()
    sizes: tuple[GroupSize, ...] = ()
    losses: Losses | None = None
    sweep: tuple[SweepPoint, ...] = ()
    measures: tuple[Measure, ...] = ()
    threads: tuple[ShownThread, ...] = field(default=(), repr=False)
    """A few threads, before and after; empty unless somebody asked for them."""

    @property
    def k(self) -> int:
        """Users that must share every published set."""
        return int(self.certificate["k"])

    @property
    def cost(self) -> Mapping[str, Any]:
        """The cost of the whole, as certified."""
        cost: Mapping[str, Any] = self.certificate["cost"]
        return cost

    @property
    def verdict(self) -> Mapping[str, int]:
        """The verifier's counts."""
        verdict: Mapping[str, int] = self.certificate["verdict"]
        return verdict

    @property
    def faults(self) -> dict[str, int]:
        """All that the verifier found wrong; a count that this version does not know is a fault."""
        return {name: n for name, n in self.verdict.items() if name not in PLAIN and n}

    @property
    def anonymous(self) -> bool:
        """Whether the verifier found k users for every set, and nothing wrong."""
        return not self.faults and self.verdict["smallest_group"] >= self.k

    @property
    def optimal(self) -> bool:
        """Whether no solution costs less: the cost is the lower bound."""
        return bool(self.cost["factor"] == 1)


def sweep_points(rows: Iterable[Mapping[str, Any]]) -> tuple[SweepPoint, ...]:
    """The totals of cost reports for several k and methods, as points of a sweep."""
    return tuple(
        SweepPoint(
            k=row["k"],
            method=row["method"],
            retained=row["retained"],
            additions=row["additions"],
            deletions=row["deletions"],
            withdrawals=row["withdrawals"],
            # A factor without limit says that no bound was found.
            most=1 - row["lower_bound"] / max(row["keywords"], 1)
            if row["factor"] is not None and isfinite(row["factor"])
            else None,
        )
        for row in rows
        if row["round"] == "total"
    )


class Measured(Protocol):
    """A measure as the core tells it; NaN is the number of nothing."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def meaning(self) -> str:
        """What it means, in a sentence."""

    @property
    def original(self) -> float:
        """Its number for the original."""

    @property
    def release(self) -> float:
        """Its number for the release."""

    @property
    def paper(self) -> float:
        """Its number for a release by the paper's method."""


def measures_of(measured: Iterable[Measured]) -> tuple[Measure, ...]:
    """Measures as the page shows them."""
    return tuple(
        Measure(
            name=each.name,
            original=_finite(each.original),
            release=_finite(each.release),
            paper=_finite(each.paper),
            note=each.meaning,
        )
        for each in measured
    )


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
