"""Replace the centers that fewer than k users typed whole: `combinations="typed"`.

A majority center may combine items that no single record contains. Here every center becomes a
set that at least k users have in one record each.

Paper:      none; section 3 allows any center.
Guarantee:  every center is contained in original records of at least k users, and every group
            keeps k users. For a center of at most `MAX_TRIED` subsets, the one chosen costs its
            group least of all typed subsets.
Complexity: O(N log N) for N item occurrences, and one count by `SupersetUsers` for each subset
            tried.
Deviation:  larger centers keep the items that most members have, one by one, while k users typed
            all of them. Then every record moves to its nearest typed center, if its group can
            spare it.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.flip import count_ones, merge_equal_centers
from setanon_core.grouping.improve.reassign import move_to_nearest
from setanon_core.grouping.superset_users import SupersetUsers
from setanon_core.params import Params
from setanon_core.runtime.progress import report_progress

MAX_TRIED: Final = 256
"""Subsets of one center that are tried in order of their cost: all of a center of 8 items."""


def typed_centers(records: Records, rows: Ints, centers: Sets, params: Params) -> tuple[Ints, Sets]:
    """Return rows and centers such that k users typed every center whole.

    `rows` has for each record the row of its center, or `WITHDRAWN`.
    """
    index = SupersetUsers(records)
    untyped = np.flatnonzero(index.count_users(centers) < params.k)
    if len(untyped) == 0:
        return rows, centers
    weights = _weights(records, rows, centers)
    subsets = typed_subsets(
        index,
        [centers.items[low:high] for low, high in _bounds(centers, untyped)],
        [weights[low:high] for low, high in _bounds(centers, untyped)],
        params.k,
    )
    rows, centers = merge_equal_centers(rows, _replace(centers, untyped, subsets))
    moved = move_to_nearest(records, rows, centers, params)
    return rows if moved is None else moved, centers


def typed_subsets(
    index: SupersetUsers, centers: Sequence[Ints], weights: Sequence[Ints], k: int
) -> list[Ints]:
    """For each center the typed subset of greatest weight; weights are positive.

    The centers themselves are not typed. A center without any typed item gets the empty set.
    """
    subsets: list[Ints] = [np.empty(0, np.int64)] * len(centers)
    searches = {row: _Removals(weight) for row, weight in enumerate(weights)}
    for tried in range(MAX_TRIED):
        report_progress("subsets of centers tried", tried, MAX_TRIED)
        kept = {row: search.next_kept() for row, search in searches.items()}
        candidates = {row: np.sort(centers[row][keep]) for row, keep in kept.items() if len(keep)}
        typed = index.count_users(_sets(list(candidates.values()))) >= k
        for (row, items), is_typed in zip(candidates.items(), typed.tolist(), strict=True):
            if is_typed:
                subsets[row] = items
                del searches[row]
        searches = {row: search for row, search in searches.items() if len(kept[row])}
        if not searches:
            return subsets
    for row, items in _grow(
        index, {row: searches[row].heaviest_first(centers[row]) for row in searches}, k
    ).items():
        subsets[row] = items
    return subsets


def _grow(index: SupersetUsers, centers: Mapping[int, Ints], k: int) -> dict[int, Ints]:
    """Add the items of each center in this order, without those that end k users' agreement."""
    grown = {row: np.empty(0, np.int64) for row in centers}
    for position in range(max(map(len, centers.values()), default=0)):
        longer = {
            row: np.sort(np.append(grown[row], items[position]))
            for row, items in centers.items()
            if position < len(items)
        }
        typed = index.count_users(_sets(list(longer.values()))) >= k
        for (row, items), is_typed in zip(longer.items(), typed.tolist(), strict=True):
            if is_typed:
                grown[row] = items
    return grown


class _Removals:
    """The subsets of a center, by the total weight of the removed items, lowest first."""

    def __init__(self, weights: Ints) -> None:
        self._order = np.argsort(weights, kind="stable")
        self._weights: list[int] = weights[self._order].tolist()
        self._heap: list[tuple[int, tuple[int, ...]]] = []
        self._push(())

    def next_kept(self) -> Ints:
        """Positions of the items of the next subset; empty after the last one."""
        _, removed = heappop(self._heap)
        last = removed[-1] + 1
        if last < len(self._weights):
            # Each set of removed items is reached once: by one item more, or a heavier last item.
            self._push((*removed, last))
            self._push((*removed[:-1], last))
        return np.delete(self._order, removed)

    def heaviest_first(self, items: Ints) -> Ints:
        """The items in descending order of their weights."""
        return items[self._order[::-1]]

    def _push(self, removed: tuple[int, ...]) -> None:
        removed = removed or (0,)
        heappush(self._heap, (sum(self._weights[n] for n in removed), removed))


def _bounds(centers: Sets, chosen: Ints) -> list[tuple[int, int]]:
    return list(
        zip(centers.offsets[chosen].tolist(), centers.offsets[chosen + 1].tolist(), strict=True)
    )


def _weights(records: Records, rows: Ints, centers: Sets) -> Ints:
    """Cost of removing each item from its center: members with it minus members without it."""
    sizes = np.bincount(rows[rows >= 0], minlength=len(centers))
    width = max(records.width, centers.width, 1)
    cells, ones = count_ones(records, rows)
    group, item = np.divmod(cells, max(records.width, 1))
    center_cells = centers.rows * width + centers.items
    position = np.searchsorted(group * width + item, center_cells)
    return 2 * ones[position] - sizes[centers.rows]


def _replace(centers: Sets, replaced: Ints, subsets: list[Ints]) -> Sets:
    parts = np.split(centers.items, centers.offsets[1:-1])
    for row, items in zip(replaced.tolist(), subsets, strict=True):
        parts[row] = items
    return _sets(parts)


def _sets(parts: list[Ints]) -> Sets:
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    items = np.concatenate([np.empty(0, np.int64), *parts])
    return Sets.unchecked(items=items, offsets=offsets_of(sizes))
