"""Attributes of threads as columns: values of their own kinds, numbered apart from the keywords."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attributes:
    """The values of the attributes of each thread, as a set of value numbers.

    A value is an attribute and a text: equal texts of two attributes are two values.
    """

    names: tuple[str, ...]
    attribute: Ints
    """The attribute of each value, as a position in `names`; ascending."""

    texts: Sequence[str]
    """The text of each value; ascending for each attribute."""

    owners: Ints
    """The number of users who have each value."""

    sets: Sets
    """The values of each thread."""

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return f"Attributes({len(self.names)} attributes, {len(self.attribute)} values)"

    def counts(self, values: Ints) -> Ints:
        """The number of values of each attribute."""
        return np.bincount(self.attribute[values], minlength=len(self.names))


@dataclass(frozen=True, slots=True)
class AttributeCost:
    """What publishing one attribute cost, in values of threads."""

    name: str
    total: int
    """Values of all threads before the release."""

    additions: int
    """Values that threads are published with, and do not have."""

    deletions: int
    """Values that threads have, and are published without; those of withdrawn threads included."""

    @property
    def retained(self) -> float:
        """Share of the values that remain: 1 - (additions + deletions) / total."""
        return 1 - (self.additions + self.deletions) / max(self.total, 1)
