"""Groupings of records, with their cost and certificate."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
from scipy import sparse

from setanon_core.columns.arrays import Bools, Ints, offsets_of
from setanon_core.columns.one_hot import zero_one_matrix
from setanon_core.columns.read_records import LAYOUTS, Layout
from setanon_core.columns.sets import Sets
from setanon_core.columns.tables import TableConstructor, constructor_named
from setanon_core.model.attributes import AttributeCost
from setanon_core.params import Params
from setanon_core.ranges import check_choice

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

    layout: Layout = field(default="lists", kw_only=True)
    """The layout of tables: that of the data which were passed in."""

    item_columns: Ints | None = field(default=None, kw_only=True)
    """The input column of each published item, for one-hot data."""

    n_columns: int | None = field(default=None, kw_only=True)
    """The number of input columns, for one-hot data."""

    attribute_values: Sets | None = field(default=None, kw_only=True)
    """The published values of the attributes of each group; None: there are no attributes."""

    attribute_costs: tuple[AttributeCost, ...] = field(default=(), kw_only=True)
    """The cost of each attribute; cost and certificate are those of the keywords."""

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

    @property
    def published(self) -> Bools:
        """Whether each input record is published; False for withdrawn records."""
        published: Bools = self.labels != WITHDRAWN
        return published

    def to_frame(
        self, constructor: TableConstructor | None = None, *, layout: Layout | None = None
    ) -> Any:  # noqa: ANN401 - a table
        """The records as a table, in input order; by default in the layout of the input.

        - `lists`: record, group and list of items; withdrawn records have no row.
        - `pairs`: record and item, one row per item; withdrawn records have no row.
        - `one_hot`: a column of booleans for each published item and a row for each input record;
          withdrawn records have False in all columns, which no published record has.

        `record` is the position of the record in the input. Built by `constructor`, such as
        `pandas.DataFrame`; by default a table of the kind that was passed in, else a dict.
        """
        chosen = check_choice("layout", layout or self.layout, LAYOUTS)
        return (constructor or self.constructor)(self._layouts[chosen]())

    def to_pandas(self, layout: Layout | None = None) -> Any:  # noqa: ANN401 - pandas is not imported here
        """`to_frame` as a data frame of pandas, which must be installed."""
        return self.to_frame(constructor_named("pandas"), layout=layout)

    def to_polars(self, layout: Layout | None = None) -> Any:  # noqa: ANN401 - Polars is not imported here
        """`to_frame` as a data frame of Polars, which must be installed."""
        return self.to_frame(constructor_named("polars"), layout=layout)

    def to_arrow(self, layout: Layout | None = None) -> Any:  # noqa: ANN401 - Arrow is not imported here
        """`to_frame` as a table of Arrow; pyarrow must be installed."""
        return self.to_frame(constructor_named("pyarrow"), layout=layout)

    def to_sparse(self) -> sparse.csr_array:
        """The records as a sparse 0/1 matrix with a row for each input record.

        Withdrawn records have empty rows, which no published record has. The columns are those of
        the input if it was one-hot, else one for each item of `vocabulary`.

        >>> from setanon_core import anonymize
        >>> anonymize([{"tea"}, {"tea", "rum"}, {"pie"}], k=2).to_sparse().toarray().tolist()
        [[1], [1], [0]]
        """
        published = np.flatnonzero(self.published)
        sets = self.centers.take(self.labels[published])
        sizes = np.zeros(len(self.labels), np.int64)
        sizes[published] = sets.sizes
        columns = sets.items if self.item_columns is None else self.item_columns[sets.items]
        width = len(self.vocabulary) if self.n_columns is None else self.n_columns
        return zero_one_matrix(columns, offsets_of(sizes), width)

    @property
    def _layouts(self) -> dict[str, Callable[[], dict[Any, Any]]]:
        return {"lists": self._as_lists, "pairs": self._as_pairs, "one_hot": self._as_one_hot}

    def _as_lists(self) -> dict[Any, Any]:
        published = np.flatnonzero(self.published)
        groups = self.labels[published].tolist()
        centers = self._center_items
        return {
            "record": published.tolist(),
            "group": groups,
            "items": [list(centers[group]) for group in groups],
        }

    def _as_pairs(self) -> dict[Any, Any]:
        published = np.flatnonzero(self.published)
        sets = self.centers.take(self.labels[published])
        return {
            "record": np.repeat(published, sets.sizes).tolist(),
            "item": [self.vocabulary[item] for item in sets.items.tolist()],
        }

    def _as_one_hot(self) -> dict[Any, Any]:
        items = np.arange(len(self.vocabulary))
        columns = items if self.item_columns is None else self.item_columns
        cells = self.to_sparse().tocsc()
        table = {}
        for item in np.argsort(columns).tolist():
            rows = cells.indices[slice(*cells.indptr[columns[item] : columns[item] + 2])]
            values = np.zeros(len(self.labels), np.bool_)
            values[rows] = True
            table[self.vocabulary[item]] = values
        return table

    @property
    def _center_items(self) -> list[list[Hashable]]:
        items = [self.vocabulary[item] for item in self.centers.items.tolist()]
        return [items[low:high] for low, high in pairwise(self.centers.offsets.tolist())]
