"""Place the records: count itemsets, find the wishes, plan the places, all part by part.

Paper:      section 5.2, whose clusters are keys of Min-Hashes; here a cluster is a place.
Guarantee:  depends on the records and the number of places alone, not on the parts.
Complexity: that of `itemset_counts` and `wishes`; 13 bytes per record are kept, in addition to
            tables of items and itemsets.
Deviation:  not in the paper.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.improve.duplicates import count_undersized, surplus_of_sets
from setanon_core.params import Params
from setanon_core.partition.content_hashes import record_hashes
from setanon_core.partition.itemset_counts import (
    Counts,
    FrequentItemsets,
    add_counts,
    candidates,
)
from setanon_core.partition.parts import equal_sets, ranges
from setanon_core.partition.plan import Plan, make_plan
from setanon_core.partition.wishes import CHOICES, NO_ITEM, find_wishes, neighbour_counts
from setanon_core.runtime.column_files import StoredColumns, store_columns

KEY_RANGES: Final = 16
"""Ranges of keys whose counts are added up one after another, approximately: bounds memory."""

NO_PLACE: Final = -1
"""Place of a surplus duplicate, which is published unchanged."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlacedRecords:
    """Records with the places of their wishes."""

    records: Records
    choices: npt.NDArray[np.int16]
    """Place of each home of each record, best first; the first is the place of the record."""

    sizes: npt.NDArray[np.int8]
    """What the record can save at each home: the size of its largest itemset; 0: no home."""

    plan: Plan

    @property
    def own(self) -> npt.NDArray[np.int16]:
        """The place of each record, or `NO_PLACE`."""
        return self.choices[:, 0]


def place_records(records: Records, params: Params, places: int) -> PlacedRecords:
    """Find the wishes of the records, and plan the places.

    Surplus duplicates have no place: a set of very many users would make its place larger than the
    others.
    """
    active = ~surplus_records(records, params)
    frequent = count_itemsets(records, params.k, active)
    return place_by_wishes(records, frequent, places, active)


def place_by_wishes(
    records: Records, frequent: FrequentItemsets, places: int, active: Bools
) -> PlacedRecords:
    """Plan the places of the active records; the others have none."""
    wishes, weights, neighbours = _wishes(records, frequent, active)
    plan = make_plan(frequent, neighbours, weights, places)
    choices = np.full((len(records), CHOICES), NO_PLACE, np.int16)
    sizes = np.zeros((len(records), CHOICES), np.int8)
    for part, stored in zip(_parts(active), wishes, strict=True):
        homes, sizes[part] = stored.take()
        hashes = record_hashes(records.subset(part))
        for column, home in enumerate(homes.T):
            choices[part, column] = plan.place_of(home, hashes)
    return PlacedRecords(records, choices, sizes, plan)


def surplus_records(records: Records, params: Params) -> Bools:
    """`surplus_duplicates`, computed in parts that have all records of their sets."""
    undersized = np.zeros(records.width, np.int64)
    for part in equal_sets(records):
        undersized += count_undersized(records.subset(part), params, records.width)
    surplus = np.zeros(len(records), np.bool_)
    for part in equal_sets(records):
        surplus[part] = surplus_of_sets(records.subset(part), params, undersized)
    return surplus


def count_itemsets(sets: Sets, min_support: int, active: Bools) -> FrequentItemsets:
    """Count the itemsets of the active records, level by level."""
    frequent = FrequentItemsets(max(sets.width, 1))
    while not frequent.complete:
        parts = (candidates(sets.take(part), frequent) for part in _parts(active))
        frequent = frequent.with_level(_frequent_counts(parts, min_support), min_support)
    return frequent


def _frequent_counts(parts: Iterator[Counts], min_support: int) -> Counts:
    """The sums of at least `min_support`: most candidates have less, and would fill the memory.

    The counts of each part are stored in ranges of keys; then the parts of one range are added up.
    """
    bounds, stored = None, []
    for keys, counts in parts:
        if bounds is None:
            # Any bounds give the same sums; these give ranges of similar sizes.
            bounds = keys[len(keys) // KEY_RANGES :: max(len(keys) // KEY_RANGES, 1)]
        cuts = np.searchsorted(keys, bounds)
        ranges_of_keys = zip(np.split(keys, cuts), np.split(counts, cuts), strict=True)
        stored.append([store_columns(*columns) for columns in ranges_of_keys])
    sums = []
    for range_of_parts in zip(*stored, strict=True):
        keys, counts = add_counts(Counts(*columns.take()) for columns in range_of_parts)
        is_frequent = counts >= min_support
        sums.append(Counts(keys[is_frequent], counts[is_frequent]))
    return add_counts(sums)


def _wishes(
    records: Records, frequent: FrequentItemsets, active: Bools
) -> tuple[list[StoredColumns], Ints, Counts]:
    """Homes and sizes of each part; how many first homes each item is; neighbours in wishes."""
    stored: list[StoredColumns] = []
    weights = np.zeros(frequent.width, np.int64)

    def neighbours() -> Iterator[Counts]:
        for part in _parts(active):
            wishes = find_wishes(records.take(part), frequent)
            first = wishes.homes[:, 0]
            np.add.at(weights, first[first != NO_ITEM], 1)
            stored.append(store_columns(wishes.homes, wishes.sizes))
            yield neighbour_counts(wishes, frequent)

    counts = add_counts(neighbours())
    return stored, weights, counts


def _parts(active: Bools) -> Iterator[Ints]:
    return (part.start + np.flatnonzero(active[part]) for part in ranges(len(active)))
