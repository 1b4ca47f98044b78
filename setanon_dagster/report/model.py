"""Data of a report: counts of one release and, on request, a few of its threads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, Literal

from setanon_core.utility.measures import UtilityMeasure
from setanon_dagster.report.decision import Decision
from setanon_dagster.report.earlier_figures import EarlierRelease
from setanon_dagster.report.personal_words import PersonalSearch
from setanon_dagster.report.release_facts import ReleaseFacts
from setanon_dagster.risk.attack_result import AttackResult
from setanon_dagster.stages.cost_report import TOTAL

Change = Literal["kept", "deleted", "added"]

SIZE_COUNTS: Final = frozenset(
    {
        "k", "records", "groups", "smallest_group", "keywords", "lists", "exposed_threads",
        "single_user_threads",
    }
)  # fmt: skip
"""Counts of a verdict that are no faults; every other count must be zero."""


@dataclass(frozen=True, slots=True)
class RoundCost:
    """Cost of the release if the grouping had stopped after this round."""

    name: str
    additions: int
    deletions: int
    withdrawals: int

    @property
    def total(self) -> int:
        """Additions plus deletions."""
        return self.additions + self.deletions


@dataclass(frozen=True, slots=True)
class GroupSize:
    """Number of groups with this many users, and number of threads in these groups."""

    users: int
    groups: int
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Additions and deletions by cause, and withdrawn threads by cause.

    Each deletion is counted in exactly one of the first four fields. A keyword is rare if fewer
    than `min_owners` users have it.
    """

    rare_published: int
    """Rare keywords deleted from published threads."""

    rare_withdrawn: int
    """Rare keywords of withdrawn threads."""

    other_withdrawn: int
    """Other keywords of withdrawn threads."""

    in_groups: int
    """Other keywords deleted from published threads: the group's center lacks them."""

    added: int
    """Keywords added to published threads: the group's center has them."""

    threads_all_rare: int
    """Withdrawn threads with rare keywords only."""

    threads_too_costly: int
    """Other withdrawn threads: every group would have cost more than the withdrawal."""

    @property
    def deleted(self) -> int:
        """All deletions."""
        return self.rare_published + self.rare_withdrawn + self.other_withdrawn + self.in_groups


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """Cost of a release of the same source with this k and method."""

    k: int
    method: str
    retained: float
    additions: int
    deletions: int
    withdrawals: int
    upper_bound: float | None = None
    """Largest share of keywords that any solution can retain; None without a lower bound."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query and its change. Private."""

    text: str
    change: Change


@dataclass(frozen=True, slots=True)
class ShownThread:
    """A thread before and after, query by query. Private: it contains words of users."""

    queries: tuple[tuple[Word, ...], ...]
    withdrawn: bool = False

    def count(self, change: Change) -> int:
        """Number of words with this change."""
        return sum(word.change == change for query in self.queries for word in query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that the page shows."""

    name: str
    """Name of the release."""

    certificate: Mapping[str, Any]
    """The exact certificate: parameters, cost, verdict, digest and versions."""

    facts: ReleaseFacts | None = None
    earlier: EarlierRelease | None = None
    """The release before this one in its series; None if this is the first."""

    personal: PersonalSearch | None = field(default=None, repr=False)
    """Personal-looking words; None if the source is too large for a plain report."""

    decision: Decision | None = None
    rounds: tuple[RoundCost, ...] = ()
    sizes: tuple[GroupSize, ...] = ()
    losses: Losses | None = None
    sweep: tuple[SweepPoint, ...] = ()
    utility: tuple[UtilityMeasure, ...] = ()
    risk: tuple[AttackResult, ...] = ()
    """Attacks on the release; empty if the source is too large for a plain report."""

    threads: tuple[ShownThread, ...] = field(default=(), repr=False)
    """A few threads, before and after; empty unless `show_threads` is set."""

    @property
    def k(self) -> int:
        """Minimum number of users per published set."""
        return int(self.certificate["k"])

    @property
    def cost(self) -> Mapping[str, Any]:
        """Total cost, from the certificate."""
        cost: Mapping[str, Any] = self.certificate["cost"]
        return cost

    @property
    def verdict(self) -> Mapping[str, int]:
        """Counts of the verifier, from the certificate."""
        verdict: Mapping[str, int] = self.certificate["verdict"]
        return {name: n for name, n in verdict.items() if name != "attributes"}

    @property
    def published_values(self) -> Mapping[str, int]:
        """The number of published values of each attribute."""
        values: Mapping[str, int] = self.certificate["verdict"].get("attributes", {})
        return values

    @property
    def faults(self) -> dict[str, int]:
        """Non-zero counts of violations; counts added by later versions are included."""
        return {name: n for name, n in self.verdict.items() if name not in SIZE_COUNTS and n}

    @property
    def anonymous(self) -> bool:
        """Whether each set has at least k users and the verifier found no violation."""
        return not self.faults and self.verdict["smallest_group"] >= self.k

    @property
    def optimal(self) -> bool:
        """Whether the cost equals the lower bound."""
        return bool(self.cost["factor"] == 1)


def sweep_points(rows: Iterable[Mapping[str, Any]]) -> tuple[SweepPoint, ...]:
    """Sweep points from the total rows of cost reports."""
    return tuple(
        SweepPoint(
            k=row["k"],
            method=row["method"],
            retained=row["retained"],
            additions=row["additions"],
            deletions=row["deletions"],
            withdrawals=row["withdrawals"],
            # An infinite factor means that no lower bound was found.
            upper_bound=1 - row["lower_bound"] / max(row["keywords"], 1)
            if row["factor"] is not None and isfinite(row["factor"])
            else None,
        )
        for row in rows
        if row["round"] == TOTAL
    )
