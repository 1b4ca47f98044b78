"""Group records place by place, in one process: the reference for engines.

Paper:      section 5.2 groups within clusters; these are clusters of the partition plan.
Guarantee:  every group has k users; no visit raises the cost. The result depends on the records,
            their canonical order and the number of places alone.
Complexity: that of the grouping of each place; every step works on parts of the records, on one
            place, or on small tables of items and itemsets.
Deviation:  after the first groups, two visits let records move between places.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.flip import flip_cost
from setanon_core.grouping.improve.duplicates import add_surplus, surplus_duplicates
from setanon_core.grouping.improve.reassign import make_moves
from setanon_core.grouping.methods import first_groups
from setanon_core.model.groups import WITHDRAWN, Grouping, Round
from setanon_core.params import Params
from setanon_core.partition.content_hashes import record_hashes
from setanon_core.partition.itemset_counts import FrequentItemsets, add_counts, candidates
from setanon_core.partition.locate_groups import LocatedGroups, locate_groups
from setanon_core.partition.place_columns import renumber_items, rows_by_place
from setanon_core.partition.plan import Plan, make_plan
from setanon_core.partition.visits import (
    Comparison,
    Visit,
    compare_at_place,
    destinations,
    reopen_at_place,
    spare_records,
)
from setanon_core.partition.wishes import NO_ITEM, Wishes, find_wishes, neighbour_counts
from setanon_core.runtime.executor import map_ordered

RECORDS_AT_ONCE: Final = 1 << 18
"""Records whose itemsets are listed together: bounds memory."""

PlaceInput = tuple[Records, Params, int]
"""Arguments of `group_place`: records, parameters, number of records of all places."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlacedRecords:
    """Records with their wishes and the places of these wishes."""

    records: Records
    wishes: Wishes
    choices: npt.NDArray[np.int32]
    """Place of each home of each record; the first column is the place of the record."""

    plan: Plan
    item_rank: Ints


def group_in_places(records: Records, params: Params, places: int) -> Grouping:
    """Form the groups of each place, then let records visit other places.

    Surplus duplicates are published unchanged and have no place: a set of very many users would
    make its place larger than the others.
    """
    surplus = surplus_duplicates(records, params)
    remaining = records.subset(np.flatnonzero(~surplus))
    placed = place_records(remaining, count_itemsets(remaining, params.k), places)
    grouping = group_placed(placed, params)
    labels = add_surplus(records, surplus, grouping.labels)
    return Grouping(labels, notes=grouping.notes, rounds=grouping.rounds)


def place_records(records: Records, frequent: FrequentItemsets, places: int) -> PlacedRecords:
    """Find the wishes of the records, and plan the places."""
    columns = zip(*(find_wishes(part, frequent) for part in _parts(records)), strict=True)
    wishes = Wishes(*map(np.concatenate, columns))
    first_home = wishes.homes[:, 0]
    weights = np.bincount(first_home[first_home != NO_ITEM], minlength=frequent.width)
    plan = make_plan(frequent, neighbour_counts(wishes, frequent), weights, places)
    hashes = record_hashes(records)
    choices = np.empty_like(wishes.homes)
    for column, home in enumerate(wishes.homes.T):
        choices[:, column] = plan.place_of(home, hashes)
    return PlacedRecords(records, wishes, choices, plan, frequent.item_rank)


def count_itemsets(sets: Sets, min_support: int) -> FrequentItemsets:
    """Count the itemsets of all parts, level by level."""
    frequent = FrequentItemsets(max(sets.width, 1))
    while not frequent.complete:
        counts = add_counts(candidates(part, frequent) for part in _parts(sets))
        frequent = frequent.with_level(counts, min_support)
    return frequent


def _parts(sets: Sets) -> Iterator[Sets]:
    for low in range(0, max(len(sets), 1), RECORDS_AT_ONCE):
        yield sets.take(np.arange(low, min(low + RECORDS_AT_ONCE, len(sets))))


def group_placed(placed: PlacedRecords, params: Params) -> Grouping:
    """First groups, then the visits; a visit that raises the cost is undone, as a safeguard."""
    records = placed.records
    labels, notes = group_places(placed, params)
    rounds = [Round(group_places.__name__, flip_cost(records, labels, params.operations))]
    if params.operations != "additions":  # a new member would change the union of its group
        for visit in (move_between_places, reopen_between_places):
            located = locate_groups(records, labels, params, placed.plan, placed.item_rank)
            visited = visit(placed, located, params)
            cost = flip_cost(records, visited, params.operations)
            if cost.total <= rounds[-1].cost.total:
                labels = visited
                rounds.append(Round(visit.__name__, cost))
    return Grouping(labels, notes=notes, rounds=tuple(rounds))


def group_places(placed: PlacedRecords, params: Params) -> tuple[Ints, tuple[str, ...]]:
    """Form the first groups of each place; return labels and notes."""
    records = placed.records
    members = rows_by_place(placed.choices[:, 0], placed.plan.places)
    inputs = ((_place(records, rows), params, len(records)) for rows in members)
    labels, next_label = np.full(len(records), WITHDRAWN), 0
    notes: dict[str, None] = {}
    for rows, grouping in zip(members, map_ordered(group_place, inputs), strict=True):
        numbers = grouping.labels
        labels[rows] = np.where(numbers == WITHDRAWN, WITHDRAWN, next_label + numbers)
        next_label += int(numbers.max(initial=WITHDRAWN)) + 1
        notes.update(dict.fromkeys(grouping.notes))
    return labels, tuple(notes)


def _place(records: Records, rows: Ints) -> Records:
    return Records.from_checked_sets(records.take(rows), records.users[rows])


def group_place(place_input: PlaceInput) -> Grouping:
    """Form the first groups of one place."""
    records, params, total = place_input
    if records.n_users < params.k:
        return Grouping(np.full(len(records), WITHDRAWN))
    (sets,) = renumber_items(records)
    return first_groups(Records.from_checked_sets(sets, records.users), params, total)


def move_between_places(placed: PlacedRecords, located: LocatedGroups, params: Params) -> Ints:
    """First visit: each record moves to the nearest center of all its places."""
    records, rows, saving = placed.records, located.rows, located.saving
    target, target_saving = np.full(len(records), WITHDRAWN), saving.copy()
    visitors = _visitors(placed, saving)
    centers = rows_by_place(located.places, placed.plan.places)

    def inputs() -> Iterator[Comparison]:
        for part, own in zip(visitors, centers, strict=True):
            yield records.take(part), saving[part], located.centers.take(own), params

    results = map_ordered(compare_at_place, inputs())
    for part, own, (nearest, there) in zip(visitors, centers, results, strict=True):
        # Of places that save equally much, the first one. Withdrawal, row -1, saves 0.
        better = there > target_saving[part]
        target[part[better]] = np.append(own, WITHDRAWN)[nearest[better]]
        target_saving[part[better]] = there[better]
    moved = make_moves(records, rows, target, target_saving - saving, params.k)
    return rows if moved is None else moved


def _visitors(placed: PlacedRecords, saving: Ints) -> list[Ints]:
    """For each place, the records with a home there that may save more than now, ascending."""
    n = len(placed.records)
    record, column = np.nonzero(placed.wishes.sizes > saving[:, None])
    cells = sorted_unique(placed.choices[record, column].astype(np.int64) * n + record)
    place, record = np.divmod(cells, max(n, 1))
    return [record[rows] for rows in rows_by_place(place, placed.plan.places)]


def reopen_between_places(placed: PlacedRecords, located: LocatedGroups, params: Params) -> Ints:
    """Second visit: records open new groups at another place, or at their own."""
    records, rows, saving = placed.records, located.rows, located.saving
    here = np.where(rows == WITHDRAWN, placed.choices[:, 0], np.append(located.places, 0)[rows])
    there = destinations(placed.choices, placed.wishes, here, saving)
    gain = placed.wishes.sizes[:, 0] - saving
    away = spare_records(records, rows, there != here, gain, params.k)
    members = rows_by_place(np.where(away, there, here), placed.plan.places)
    centers = rows_by_place(located.places, placed.plan.places)
    row_at_place = np.full(len(located.centers) + 1, WITHDRAWN)
    for own in centers:
        row_at_place[own] = np.arange(len(own))

    def inputs() -> Iterator[Visit]:
        for part, own in zip(members, centers, strict=True):
            part_rows = np.where(away[part], WITHDRAWN, row_at_place[rows[part]])
            own_centers = located.centers.take(own)
            yield _place(records, part), part_rows, saving[part], own_centers, params

    labels, next_label = rows.copy(), len(located.centers)
    results = map_ordered(reopen_at_place, inputs())
    for part, own, moved in zip(members, centers, results, strict=True):
        is_new = moved >= len(own)
        labels[part[is_new]] = next_label + moved[is_new] - len(own)
        next_label += int(moved.max(initial=len(own))) - len(own) + 1
    return labels
