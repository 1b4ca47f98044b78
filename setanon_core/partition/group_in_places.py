"""Group records place by place: the parent holds narrow columns, other processes one place each.

Paper:      section 5.2 groups within clusters; these are clusters of the partition plan.
Guarantee:  every group has k users; no visit raises the cost. The result depends on the records,
            their canonical order and the number of places alone.
Complexity: that of the grouping of each place. Columns of all records are 8, 16 or 32 bits wide;
            64-bit columns exist for one part or one place at a time.
Deviation:  after the first groups, two visits let records move between places.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, sorted_unique
from setanon_core.columns.narrow import narrow, narrow_column, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.methods import first_groups
from setanon_core.model.groups import WITHDRAWN, Cost, Grouping, Round
from setanon_core.params import Params
from setanon_core.partition.group_parts import (
    flip_cost_in_parts,
    make_moves_in_parts,
    spare_in_parts,
)
from setanon_core.partition.locate_groups import LocatedGroups, locate_groups
from setanon_core.partition.parts import equal_sets, ranges, rows_by_part
from setanon_core.partition.place_columns import renumber_items
from setanon_core.partition.place_records import NO_PLACE, PlacedRecords, place_records
from setanon_core.partition.visits import (
    Comparison,
    Visit,
    compare_at_place,
    destinations,
    reopen_at_place,
)
from setanon_core.runtime.column_files import StoredColumns, pass_columns
from setanon_core.runtime.executor import map_ordered

PlaceInput = tuple[StoredColumns, Params, int]
"""Arguments of `group_place`: items, offsets and users; parameters; records of all places."""


def group_in_places(records: Records, params: Params, places: int) -> Grouping:
    """Form the groups of each place, then let records visit other places."""
    return group_placed(place_records(records, params, places), params)


def group_placed(placed: PlacedRecords, params: Params) -> Grouping:
    """First groups, then the visits; a visit that raises the cost is undone, as a safeguard."""
    labels, notes = group_places(placed, params)
    rounds = [Round(group_places.__name__, _cost(placed, labels, params))]
    if params.operations != "additions":  # a new member would change the union of its group
        for visit in (move_between_places, reopen_between_places):
            located = locate_groups(placed.records, labels, params, placed.own)
            visited = visit(placed, located, params)
            cost = _cost(placed, visited, params)
            if cost.total <= rounds[-1].cost.total:
                labels = visited
                rounds.append(Round(visit.__name__, cost))
    return Grouping(_add_surplus(placed, labels), notes=notes, rounds=tuple(rounds))


def _cost(placed: PlacedRecords, labels: Ints, params: Params) -> Cost:
    surplus = placed.own == NO_PLACE
    return flip_cost_in_parts(placed.records, labels, params.operations, surplus)


def _add_surplus(placed: PlacedRecords, labels: Ints) -> Ints:
    """Give surplus duplicates one group per set; Algorithm 1 merges groups with equal centers."""
    surplus = np.flatnonzero(placed.own == NO_PLACE)
    sets, next_label = placed.records.take(surplus), int(labels.max(initial=WITHDRAWN)) + 1
    for part in equal_sets(sets):
        ranks = sets.take(part).ranks
        labels[surplus[part]] = next_label + ranks
        next_label += int(ranks.max(initial=-1)) + 1
    return labels


def group_places(placed: PlacedRecords, params: Params) -> tuple[Ints, tuple[str, ...]]:
    """Form the first groups of each place; return labels and notes."""
    records, members = placed.records, rows_by_part(placed.own, placed.places)
    total = sum(map(len, members))
    inputs = ((_pass_place(records, rows), params, total) for rows in members)
    labels, next_label = narrow_column(len(records), WITHDRAWN), 0
    notes: dict[str, None] = {}
    for rows, grouping in zip(members, map_ordered(group_place, inputs), strict=True):
        numbers = grouping.labels
        labels[rows] = np.where(numbers == WITHDRAWN, WITHDRAWN, next_label + numbers)
        next_label += int(numbers.max(initial=WITHDRAWN)) + 1
        notes.update(dict.fromkeys(grouping.notes))
    return labels, tuple(notes)


def _pass_place(records: Records, rows: Ints) -> StoredColumns:
    sets = records.take(rows)
    return pass_columns(sets.items, sets.offsets, records.users[rows])


def _load_place(stored: StoredColumns) -> Records:
    """The records of a place, with items numbered 0, 1, ... and 64-bit users."""
    items, offsets, users = stored.take()
    (sets,) = renumber_items(Sets.unchecked(items=items, offsets=offsets))
    return Records.from_checked_sets(sets, widen(users))


def group_place(place_input: PlaceInput) -> Grouping:
    """Form the first groups of one place."""
    stored, params, total = place_input
    records = _load_place(stored)
    if records.n_users < params.k:
        return Grouping(np.full(len(records), WITHDRAWN))
    return first_groups(records, params, total)


def move_between_places(placed: PlacedRecords, located: LocatedGroups, params: Params) -> Ints:
    """First visit: each record moves to the nearest center of all its places."""
    records, saving = placed.records, located.saving
    target, target_saving = narrow_column(len(records), WITHDRAWN), saving.copy()
    visitors = _visitors(placed, saving)
    centers = rows_by_part(located.places, placed.places)

    def inputs() -> Iterator[Comparison]:
        for part, own in zip(visitors, centers, strict=True):
            sets, there = records.take(part), located.centers.take(own)
            yield (
                pass_columns(sets.items, sets.offsets, saving[part], there.items, there.offsets),
                params,
            )

    results = map_ordered(compare_at_place, inputs())
    for part, own, (nearest, there) in zip(visitors, centers, results, strict=True):
        # Of places that save equally much, the first one. Withdrawal, row -1, saves 0.
        better = there > target_saving[part]
        target[part[better]] = np.append(own, WITHDRAWN)[nearest[better]]
        target_saving[part[better]] = there[better]
    return make_moves_in_parts(records, located.rows, target, target_saving - saving, params.k)


def _visitors(placed: PlacedRecords, saving: Ints) -> list[Ints]:
    """For each place, the records with a home there that may save more than now, ascending."""
    places = placed.places
    lists: list[list[Ints]] = [[] for _ in range(places)]
    for rows in ranges(len(saving)):
        record, column = np.nonzero(placed.sizes[rows] > np.maximum(saving[rows], 0)[:, None])
        place = placed.choices[rows][record, column].astype(np.int64)
        cells = sorted_unique(place * len(saving) + record)
        place, record = np.divmod(cells, max(len(saving), 1))
        for visitors, part in zip(lists, rows_by_part(place, places), strict=True):
            visitors.append(narrow(rows.start + record[part], len(saving)))
    none = narrow_column(0, 0)
    return [np.concatenate([none, *visitors]) for visitors in lists]


def reopen_between_places(placed: PlacedRecords, located: LocatedGroups, params: Params) -> Ints:
    """Second visit: records open new groups at another place, or at their own."""
    records, rows, saving = placed.records, located.rows, located.saving
    centers = rows_by_part(located.places, placed.places)
    place, away = _visit_places(placed, located, params)
    members = rows_by_part(place, placed.places)
    row_at_place = narrow_column(len(located.centers) + 1, WITHDRAWN)
    for own in centers:
        row_at_place[own] = np.arange(len(own))

    def inputs() -> Iterator[Visit]:
        for part, own in zip(members, centers, strict=True):
            part_rows = np.where(away[part], WITHDRAWN, row_at_place[rows[part]])
            sets = records.take(part)
            columns = sets.items, sets.offsets, records.users[part], part_rows, saving[part]
            yield pass_columns(*columns), params, len(own)

    labels, next_label = rows.copy(), len(located.centers)
    results = map_ordered(reopen_at_place, inputs())
    for part, own, moved in zip(members, centers, results, strict=True):
        is_new = moved >= len(own)
        labels[part[is_new]] = next_label + moved[is_new] - len(own)
        next_label += int(moved.max(initial=len(own))) - len(own) + 1
    return labels


def _visit_places(
    placed: PlacedRecords, located: LocatedGroups, params: Params
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.bool_]]:
    """The place of each record in the second visit, and whether it is not that of its group."""
    n = len(placed.records)
    place, there = np.empty((2, n), np.int16)
    place_of_center = np.append(located.places, NO_PLACE)
    for part in ranges(n):
        row, saving = located.rows[part], located.saving[part]
        here = np.where(row == WITHDRAWN, placed.own[part], place_of_center[row])
        place[part] = here
        there[part] = destinations(placed.choices[part], placed.sizes[part], here, saving)
    gain = placed.sizes[:, 0] - located.saving
    away = spare_in_parts(placed.records, located.rows, there != place, gain, params.k)
    place[away] = there[away]
    return place, away
