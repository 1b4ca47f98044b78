"""The result of one part of a series: what is published, and what became of the records."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.model.groups import Cost


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """What a series publishes with one part.

    Only `records` may be published. The other columns are private: with them, the caller finds
    the rows of a record, by its number in the series.
    """

    part: int
    """The number of the part, from 0."""

    labels: Ints
    """The row in `centers` of each published record, ascending."""

    centers: Sets
    """The published sets."""

    vocabulary: tuple[str | int, ...]
    """The published items."""

    numbers: Ints
    """The number in the series of each published record; records are numbered as they arrive."""

    waited: Ints
    """The number of parts that each published record waited."""

    withdrawn: Ints
    """The numbers of the records that were withdrawn for good."""

    held: int
    """Records that wait now."""

    cost: Cost
    """Flips of the published records, and the items of the withdrawn ones."""

    def __repr__(self) -> str:
        """Counts only: a traceback or a log must not show any data."""
        return (
            f"Batch(part {self.part}, {len(self.numbers)} records in {len(self.centers)} sets, "
            f"{len(self.withdrawn)} withdrawn, {self.held} held)"
        )

    @cached_property
    def records(self) -> tuple[frozenset[str | int], ...]:
        """The published sets, one per record, sorted: their order says nothing of the input."""
        items = [self.vocabulary[item] for item in self.centers.items.tolist()]
        bounds = pairwise(self.centers.offsets.tolist())
        sets = [frozenset(items[low:high]) for low, high in bounds]
        return tuple(sets[label] for label in self.labels.tolist())
