"""Records whose distinct sets and frequent itemsets are computed once and then shared.

`open_itemsets` needs the itemsets that k records contain, `reopen` those that a majority of k
records contains. Mining with the lower threshold gives both, unless it exceeds the budget: then
the results would depend on the threshold, and each threshold is mined separately.
"""

from dataclasses import dataclass
from functools import cached_property

from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.itemsets import Itemsets, frequent_itemsets
from setanon_core.params import Params


def min_center_support(params: Params) -> int:
    """Least number of records, in any group of k or more, that contain an item of its center."""
    return params.k // 2 + 1 if params.operations == "both" else params.k


@dataclass(frozen=True, eq=False, repr=False)
class MinedRecords(Records):
    """Records that keep their distinct sets and itemsets for all steps of one run."""

    lowest_support: int = 1
    """Lowest threshold with which the itemsets are requested."""

    @classmethod
    def from_records(cls, records: Records, lowest_support: int) -> "MinedRecords":
        """Copy no columns and mine nothing yet."""
        return cls.unchecked(
            items=records.items,
            offsets=records.offsets,
            users=records.users,
            vocabulary=records.vocabulary,
            lowest_support=lowest_support,
        )

    @cached_property
    def distinct_sets(self) -> DistinctSets:
        """The distinct sets, computed once."""
        return DistinctSets(self)

    def itemsets(self, min_support: int) -> Itemsets:
        """Return exactly what `frequent_itemsets` returns for the distinct sets."""
        shared = self._itemsets
        if min_support == self.lowest_support:
            return shared
        if min_support > self.lowest_support and shared.within_budget:
            return shared.with_min_support(self.distinct_sets.sets, min_support)
        return frequent_itemsets(self.distinct_sets.sets, self.distinct_sets.weights, min_support)

    @cached_property
    def _itemsets(self) -> Itemsets:
        distinct = self.distinct_sets
        return frequent_itemsets(distinct.sets, distinct.weights, self.lowest_support)


def mine(records: Records, min_support: int) -> tuple[DistinctSets, Itemsets]:
    """Distinct sets and frequent itemsets of records; shared between calls for `MinedRecords`."""
    if isinstance(records, MinedRecords):
        return records.distinct_sets, records.itemsets(min_support)
    distinct = DistinctSets(records)
    return distinct, frequent_itemsets(distinct.sets, distinct.weights, min_support)
