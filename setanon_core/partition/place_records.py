"""Place the records: count itemsets, find the wishes, plan the places, all part by part.

Paper:      section 5.2, whose clusters are keys of Min-Hashes; here a cluster is a place.
Guarantee:  depends on the sets of each user and the number of places alone: not on the parts, the
            order of the records, or the numbers of the users.
Complexity: that of `itemset_counts` and `wishes`; memory is that of one part, of tables of items
            and itemsets, and 16 bytes per user. Parts are counted by the current executor.
Deviation:  not in the paper.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Bools, Ints, Keys
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.params import Params
from setanon_core.partition.content_hashes import record_hashes, user_digests, user_keys
from setanon_core.partition.itemset_counts import (
    Counts,
    FrequentItemsets,
    add_counts,
    candidates,
)
from setanon_core.partition.plan import make_plan
from setanon_core.partition.record_parts import RecordParts, RecordRanges
from setanon_core.partition.surplus import surplus_of_parts
from setanon_core.partition.wishes import CHOICES, NO_ITEM, find_wishes, neighbour_counts
from setanon_core.runtime.column_files import StoredColumns, store_columns
from setanon_core.runtime.executor import map_ordered

KEY_RANGES: Final = 16
"""Ranges of keys whose counts are added up one after another, approximately: bounds memory."""

NO_PLACE: Final = -1
"""Place of a surplus duplicate, which is published unchanged."""


class Places(NamedTuple):
    """The places of records."""

    choices: npt.NDArray[np.int16]
    """Place of each home of each record, best first, padded with -1; the first is its own place."""

    sizes: npt.NDArray[np.int8]
    """What the record can save at each home: the size of its largest itemset; 0: no home."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlacedRecords:
    """Records with the places of their wishes; see `Places`."""

    records: Records
    choices: npt.NDArray[np.int16]
    sizes: npt.NDArray[np.int8]
    places: int
    """Number of places."""

    @property
    def own(self) -> npt.NDArray[np.int16]:
        """The place of each record, or `NO_PLACE`."""
        return self.choices[:, 0]


def place_records(
    records: Records, params: Params, places: int, digests: Keys | None = None
) -> PlacedRecords:
    """Plan the places of records that are in memory; see `place_parts`."""
    parts = RecordRanges(records)
    return join_places(records, place_parts(parts, params, places, digests), places)


def join_places(records: Records, parts: Iterable[Places], places: int) -> PlacedRecords:
    """The records with the places of all parts."""
    choices, sizes = empty_places(len(records))
    start = 0
    for part in parts:
        stop = start + len(part.choices)
        choices[start:stop], sizes[start:stop] = part
        start = stop
    return PlacedRecords(records, choices, sizes, places)


def empty_places(n: int) -> Places:
    """No place for each of n records."""
    return Places(np.full((n, CHOICES), NO_PLACE, np.int16), np.zeros((n, CHOICES), np.int8))


def place_parts(
    parts: RecordParts, params: Params, places: int, digests: Keys | None = None
) -> Iterator[Places]:
    """Find the wishes of the records, plan the places, and return those of each part.

    `digests` are those of the users, from the sets before items were removed, if they are known.
    Surplus duplicates have no place: a set of very many users would make its place larger than the
    others.
    """
    keys = user_keys(user_digests(parts, parts.n_users) if digests is None else digests)
    active = [~surplus for surplus in surplus_of_parts(parts, params, keys)]
    frequent = count_itemsets(_Active(parts, active), parts.width, params.k)
    yield from place_by_wishes(parts, active, frequent, keys, places)


def place_by_wishes(
    parts: RecordParts,
    active: list[Bools],
    frequent: FrequentItemsets,
    keys: Keys,
    places: int,
) -> Iterator[Places]:
    """Plan the places of the active records of each part; the others have none."""
    wishes, weights, neighbours = _wishes(_Active(parts, active), frequent)
    plan = make_plan(frequent, neighbours, weights, places)
    for records, is_active, stored in zip(parts, active, wishes, strict=True):
        rows = np.flatnonzero(is_active)
        placed = empty_places(len(records))
        homes, sizes = stored.take()
        hashes = record_hashes(records.subset(rows), keys)
        choices = np.column_stack([plan.place_of(home, hashes) for home in homes.T])
        choices[:, 1:][homes[:, 1:] == NO_ITEM] = NO_PLACE
        placed.choices[rows], placed.sizes[rows] = choices, sizes
        yield placed


class _Active:
    """The sets of the active records of each part; can be read several times."""

    def __init__(self, parts: RecordParts, active: list[Bools]) -> None:
        self.parts, self.active = parts, active

    def __iter__(self) -> Iterator[Sets]:
        for records, is_active in zip(self.parts, self.active, strict=True):
            yield records.sets if is_active.all() else records.take(np.flatnonzero(is_active))


def count_itemsets(parts: Iterable[Sets], width: int, min_support: int) -> FrequentItemsets:
    """Count the itemsets of parts that can be read several times, level by level."""
    frequent = FrequentItemsets(max(width, 1))
    while not frequent.complete:
        counts = map_ordered(partial(candidates, frequent=frequent), parts)
        frequent = frequent.with_level(_frequent_counts(counts, min_support), min_support)
    return frequent


def _frequent_counts(parts: Iterable[Counts], min_support: int) -> Counts:
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


class _PartWishes(NamedTuple):
    homes: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int8]
    weights: Counts
    """First homes, and the records of each."""

    neighbours: Counts


def _wishes_of_part(sets: Sets, frequent: FrequentItemsets) -> _PartWishes:
    wishes = find_wishes(sets, frequent)
    first = wishes.homes[:, 0]
    weights = np.unique(first[first != NO_ITEM], return_counts=True)
    neighbours = neighbour_counts(wishes, frequent)
    return _PartWishes(wishes.homes, wishes.sizes, Counts(*weights), neighbours)


def _wishes(
    parts: Iterable[Sets], frequent: FrequentItemsets
) -> tuple[list[StoredColumns], Ints, Counts]:
    """Homes and sizes of each part; how many first homes each item is; neighbours in wishes."""
    stored: list[StoredColumns] = []
    weights = np.zeros(frequent.width, np.int64)

    def neighbours() -> Iterator[Counts]:
        for part in map_ordered(partial(_wishes_of_part, frequent=frequent), parts):
            weights[part.weights.keys] += part.weights.counts
            stored.append(store_columns(part.homes, part.sizes))
            yield part.neighbours

    counts = add_counts(neighbours())
    return stored, weights, counts
