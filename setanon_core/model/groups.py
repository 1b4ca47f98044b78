"""Groupings of records, with their cost and certificate."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.columns.tables import TableConstructor
from setanon_core.params import Params

WITHDRAWN: Final = -1
"""The label of a record that is not published."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Items added to records and deleted from them, including those of withdrawn records."""

    additions: int
    deletions: int
    withdrawals: int = 0
    """Records that are not published; all their items are counted as deletions."""

    @property
    def total(self) -> int:
        """The objective of Definition 2: additions + deletions."""
        return self.additions + self.deletions


@dataclass(frozen=True, slots=True)
class Round:
    """The cost after one round: the first groups of a grouper, or one improvement step."""

    name: str
    cost: Cost


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouping:
    """The group of each record, or `WITHDRAWN`. Labels need not be consecutive."""

    labels: Ints
    proven_optimal: bool = False
    notes: tuple[str, ...] = ()
    """Limits that were reached, such as an enumeration cut off, which voids the guarantee."""

    rounds: tuple[Round, ...] = ()

    def __repr__(self) -> str:
        """Counts only."""
        withdrawn = int((self.labels == WITHDRAWN).sum())
        return f"Grouping({len(self.labels)} records, {withdrawn} withdrawn)"


@dataclass(frozen=True, slots=True)
class Certificate:
    """An upper bound for the ratio of a cost to the optimal cost."""

    cost: Cost
    lower_bound: int
    """No k-anonymization of these records under these parameters costs less."""

    proven_optimal: bool

    @property
    def factor(self) -> float:
        """Cost over lower bound: 1.0 is optimal; infinite if the lower bound is 0."""
        if self.cost.total <= self.lower_bound:
            return 1.0
        return self.cost.total / self.lower_bound if self.lower_bound else float("inf")


@dataclass(frozen=True, eq=False, repr=False)
class Anonymized:
    """The result of `anonymize`: the published sets, their cost, and the certificate."""

    labels: Ints
    """For each input record the row of its center, or `WITHDRAWN`."""

    centers: Sets
    """One set of items per group."""

    vocabulary: tuple[Hashable, ...]
    """The published items."""

    certificate: Certificate
    params: Params
    notes: tuple[str, ...] = ()
    """Limits reached by the grouping, such as a lost guarantee."""

    warnings: tuple[str, ...] = ()
    """What to check before using the result."""

    rounds: tuple[Round, ...] = ()
    """The cost after each round; the last is the final cost."""

    constructor: TableConstructor = field(default=dict, kw_only=True)
    """Builds the table of `to_frame`."""

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return (
            f"Anonymized({len(self.labels)} records, {len(self.centers)} groups, "
            f"{self.cost.withdrawals} withdrawn, cost {self.cost.total})"
        )

    @property
    def cost(self) -> Cost:
        """Additions, deletions and withdrawals."""
        return self.certificate.cost

    @property
    def lower_bound(self) -> int:
        """No solution costs less."""
        return self.certificate.lower_bound

    @property
    def factor(self) -> float:
        """Cost over lower bound."""
        return self.certificate.factor

    @property
    def proven_optimal(self) -> bool:
        """Whether no solution costs less than this one."""
        return self.certificate.proven_optimal

    @cached_property
    def records(self) -> tuple[frozenset[Hashable] | None, ...]:
        """One set per input record, in input order; None for withdrawn records."""
        centers = [frozenset(items) for items in self._center_items]
        return tuple(
            None if label == WITHDRAWN else centers[label] for label in self.labels.tolist()
        )

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The input positions of the members of each group, sorted by first member."""
        published = np.flatnonzero(self.labels != WITHDRAWN)
        members = published[np.argsort(self.labels[published], kind="stable")]
        cuts = np.flatnonzero(np.diff(self.labels[members])) + 1
        parts = np.split(members, cuts) if len(members) else []
        return tuple(sorted(tuple(part.tolist()) for part in parts))

    def to_frame(self, constructor: TableConstructor | None = None) -> Any:  # noqa: ANN401 - a table
        """The published records as a table: input position, group and items (sorted as encoded).

        Built by `constructor`, such as `pandas.DataFrame`; by default a data frame if a Series of
        pandas or Polars was anonymized, else a dict of lists.
        """
        published = np.flatnonzero(self.labels != WITHDRAWN)
        groups = self.labels[published].tolist()
        centers = self._center_items
        return (constructor or self.constructor)(
            {
                "record": published.tolist(),
                "group": groups,
                "items": [list(centers[group]) for group in groups],
            }
        )

    @property
    def _center_items(self) -> list[list[Hashable]]:
        items = [self.vocabulary[item] for item in self.centers.items.tolist()]
        return [items[low:high] for low, high in pairwise(self.centers.offsets.tolist())]
