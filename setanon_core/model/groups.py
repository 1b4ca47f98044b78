"""The nouns that stages hand to each other: groupings, costs, certificates, verdicts."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.params import Params

WITHDRAWN: Final = -1
"""The label of a record that is not published."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Flips: what was added to records and deleted from them, withdrawn records included."""

    additions: int
    deletions: int
    withdrawals: int = 0
    """Records not published at all; their items are counted among the deletions."""

    @property
    def total(self) -> int:
        """The objective of Definition 2: additions + deletions."""
        return self.additions + self.deletions


@dataclass(frozen=True, slots=True)
class Round:
    """What the groups cost after one round: a grouper's first groups, or a step that mends them."""

    name: str
    cost: Cost


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which group each record is in; `WITHDRAWN` is none.

    Labels need not be consecutive. `notes` say what a reader must know of how they came about,
    such as an enumeration that was cut off and took the guarantee with it.
    """

    labels: Ints
    proven_optimal: bool = False
    notes: tuple[str, ...] = ()
    rounds: tuple[Round, ...] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far from the optimum a cost can be, at most."""

    cost: Cost
    lower_bound: int
    """No k-anonymization of these records under these parameters costs less."""

    proven_optimal: bool

    @property
    def factor(self) -> float:
        """Cost over lower bound: 1.0 is optimal, infinite where nothing could be proved."""
        if self.cost.total <= self.lower_bound:
            return 1.0
        return self.cost.total / self.lower_bound if self.lower_bound else float("inf")


@dataclass(frozen=True, eq=False)
class Anonymized:
    """What `anonymize` returns: the published sets, what they cost, and how good that is."""

    labels: Ints
    """For each input record the row of its center; `WITHDRAWN` where it has none."""

    centers: Sets
    """One set of items for each group."""

    vocabulary: tuple[Hashable, ...]
    certificate: Certificate
    params: Params
    notes: tuple[str, ...] = ()
    """How the groups were formed, where a guarantee was lost or a limit reached."""

    warnings: tuple[str, ...] = ()
    """What a person should see before using the result."""

    rounds: tuple[Round, ...] = ()
    """What it cost after each round; the last is the cost."""

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
        """Whether no solution can cost less than this one."""
        return self.certificate.proven_optimal

    @cached_property
    def records(self) -> tuple[frozenset[Hashable] | None, ...]:
        """One set for each input record, in input order; None where it was withdrawn."""
        names = [self.vocabulary[item] for item in self.centers.items.tolist()]
        bounds = self.centers.offsets.tolist()
        centers = [frozenset(names[low:high]) for low, high in pairwise(bounds)]
        return tuple(
            None if label == WITHDRAWN else centers[label] for label in self.labels.tolist()
        )

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The input positions of each group, groups in order of their first member."""
        published = np.flatnonzero(self.labels != WITHDRAWN)
        members = published[np.argsort(self.labels[published], kind="stable")]
        cuts = np.flatnonzero(np.diff(self.labels[members])) + 1
        parts = np.split(members, cuts) if len(members) else []
        return tuple(sorted(tuple(part.tolist()) for part in parts))
