"""The nearest-neighbour bound as a sum of parts.

The bound of `lower_bound` is a sum over records of min(|S_i|, A_i), where A_i follows from the
numbers of other sets at each distance from S_i. These numbers follow from F_t, the number of pairs
(T, j) with T a subset of S_i and of S_j, |T| = t: see `distances`. Every T has exactly one first
item, so F_t is the sum over ranges of first items of the pairs whose T begins in the range. Both
sums are exact, so any ranges and any parts of the sets give the same bound.

Paper:      none; the bounded problem is Definition 2 with users and withdrawals.
Guarantee:  at most the cost of every feasible solution. Where less is counted than in
            `lower_bound`, sets are counted as nearer than they are, which only lowers A_i: other
            sets of the same user count as those of another user, a set of more than `short_limit`
            items is a near neighbour of all sets that it may share items with, and its own term is
            0.
Complexity: O(sum of 2^|S_i|) over the short sets.
Deviation:  none.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, run_starts
from setanon_core.columns.narrow import narrow, narrow_records, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.grouping.bounds.distances import (
    OCCURRENCES_AT_ONCE,
    SETS_AT_ONCE,
    SHORT_LIMIT,
    SUBSETS_BUDGET,
    SUBSETS_PER_SET,
    by_distance,
    count_subsets,
    table_row_of,
)
from setanon_core.grouping.bounds.lower_bound import promising_metrics, terms
from setanon_core.grouping.bounds.metric import Metric
from setanon_core.grouping.bounds.nearest import Neighbours
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.starts.configurations import SCALE
from setanon_core.grouping.strip import never_majority
from setanon_core.params import Params
from setanon_core.partition.parts import concat_sets, equal_sets
from setanon_core.runtime.column_files import StoredColumns, StoredRows, pass_columns, store_rows
from setanon_core.runtime.executor import map_ordered


class WeightedSets(NamedTuple):
    """Distinct sets; for each, the users that have it and the records with it."""

    sets: Sets
    users: Ints
    records: Ints

    def take(self, positions: Ints) -> "WeightedSets":
        """The sets at `positions`, in that order."""
        sets = self.sets.take(positions)
        return WeightedSets(sets, self.users[positions], self.records[positions])


class SizeCounts(NamedTuple):
    """Numbers of distinct sets, of users and of records, by the size of the set; parts add up."""

    sets: Ints
    users: Ints
    records: Ints


class LongCounts(NamedTuple):
    """For each item, the users and the records of long sets that contain it; parts add up."""

    users: Ints
    records: Ints


def count_sizes(weighted: WeightedSets, largest: int) -> SizeCounts:
    """Count the sets, users and records of each size from 0 to `largest`."""
    sizes, n = weighted.sets.sizes, largest + 1
    users = np.bincount(sizes, weighted.users, minlength=n).astype(np.int64)
    records = np.bincount(sizes, weighted.records, minlength=n).astype(np.int64)
    return SizeCounts(np.bincount(sizes, minlength=n), users, records)


def short_limit(counts: SizeCounts) -> int:
    """Largest size of a short set: subsets of longer ones would be too many."""
    budget = max(SUBSETS_BUDGET, SUBSETS_PER_SET * int(counts.sets.sum()))
    sizes = np.arange(min(len(counts.sets), SHORT_LIMIT + 1))
    subsets = np.cumsum(counts.sets[: len(sizes)] << sizes)
    return max(int(np.searchsorted(subsets, budget, side="right")) - 1, 1)


def count_long(weighted: WeightedSets, limit: int, width: int) -> LongCounts:
    """Count, for each of `width` items, the sets of more than `limit` items."""
    long = weighted.take(np.flatnonzero(weighted.sets.sizes > limit))
    items, rows = long.sets.items, long.sets.rows
    users = np.bincount(items, long.users[rows], minlength=width).astype(np.int64)
    records = np.bincount(items, long.records[rows], minlength=width).astype(np.int64)
    return LongCounts(users, records)


def count_overlaps(
    weighted: WeightedSets, is_first: Bools, limit: int, metric: Metric
) -> tuple[Ints, Ints]:
    """Counts of users and of records by table row (`table_row_of`), for each set of a part.

    The part has all short sets with an item in `is_first`. The counts are those of common subsets
    with a first item in `is_first`: the sum over disjoint ranges of first items is needed.
    """
    sets = weighted.sets
    tables = [np.zeros((metric.unit * limit + 1, len(sets)), np.int64) for _ in range(2)]
    first = np.flatnonzero(is_first[sets.items])
    if len(first):
        weights = [weighted.users, weighted.records]
        count_subsets(sets, first, weights, tables, metric)
    users, records = tables
    return users, records


def bound_of_sets(  # noqa: PLR0913, PLR0917 - the sums of three counts
    weighted: WeightedSets,
    overlaps: tuple[Ints, Ints],
    counts: SizeCounts,
    long: LongCounts,
    params: Params,
    metric: Metric,
) -> int:
    """The term of these short sets in the bound, in multiples of 1 / SCALE.

    `overlaps`, `counts` and `long` are sums over all ranges of first items and all parts.
    """
    sets, limit = weighted.sets, (len(overlaps[0]) - 1) // metric.unit
    nearest, every = (
        by_distance(
            overlap
            + _disjoint_sets(sets.sizes, own, totals, limit, metric)
            + _long_sets(sets, of_item, int(totals[limit + 1 :].sum()), limit, metric),
            np.arange(len(sets)),
            sets.sizes,
            metric,
        )
        for overlap, own, totals, of_item in zip(
            overlaps, weighted[1:], counts[1:], long, strict=True
        )
    )
    # The other records with the same set are at distance 0.
    nearest[:, 0] += weighted.users - 1
    every[:, 0] += weighted.records - 1
    block = Neighbours(sets.sizes, weighted.records, nearest, every)
    return int(terms(block, params, metric) @ weighted.records)


def _disjoint_sets(sizes: Ints, own: Ints, totals: Ints, limit: int, metric: Metric) -> Ints:
    """Other short sets by table row, if they shared no item; `count_overlaps` corrects this."""
    table = np.zeros((metric.unit * limit + 1, len(sizes)), np.int64)
    for z, total in enumerate(totals[: limit + 1].tolist()):
        table[table_row_of(limit, z, 0, metric)] += total - own * (sizes == z)
    return table


def _long_sets(sets: Sets, of_item: Ints, total: int, limit: int, metric: Metric) -> Ints:
    """Long sets by table row, at least as many within each distance as there are.

    A long set that lacks at most d items of S contains one of any d + 1 items of S, so there are at
    most as many as the d + 1 items of fewest long sets have together. They count as if they had
    `limit` + 1 items.
    """
    table = np.zeros((metric.unit * limit + 1, len(sets)), np.int64)
    order = np.lexsort((of_item[sets.items], sets.rows))
    lacking = np.arange(len(order)) - sets.offsets[:-1][sets.rows]
    shared = sets.sizes[sets.rows] - lacking
    row = table_row_of(limit, limit + 1, shared, metric)
    np.add.at(table, (row, sets.rows), of_item[sets.items[order]])
    others = np.maximum(total - table.sum(axis=0), 0)
    table[table_row_of(limit, limit + 1, 0, metric)] += others
    return table


def bound_in_parts(records: Records, params: Params, parts: int | None = None) -> int:
    """Lower bound for all records, from `parts` ranges of first items, by the current executor.

    The number of parts does not change the bound; by default it limits memory. The columns of the
    records may be narrow.
    """
    if parts is None:
        # Half the occurrences of a bound without parts: several parts are counted at a time.
        parts = max(-(-2 * len(records.items) // OCCURRENCES_AT_ONCE), 1)
    if records.n_users < params.k:
        return len(records.items)
    always_deleted = never_majority(records, params)
    deleted = int(always_deleted[records.items].sum())
    kept = records
    if deleted:
        sets = records.keep_items(~always_deleted)
        kept = narrow_records(Records.from_checked_sets(sets, records.users))
    weighted = _weighted_sets(kept)
    metrics = promising_metrics(kept, params)
    totals = [_sum_of_parts(weighted, params, parts, metric) for metric in metrics]
    return deleted - (-max(totals) // SCALE)


def _weighted_sets(records: Records) -> WeightedSets:
    """The distinct sets, in narrow columns."""
    parts: list[Sets] = []
    columns: list[tuple[Ints, ...]] = []
    for rows in equal_sets(records):
        distinct = DistinctSets(records.subset(rows))
        parts.append(distinct.sets)
        numbers = distinct.owners, distinct.weights
        columns.append(tuple(narrow(column, len(records)) for column in numbers))
    sets = concat_sets(parts)
    narrow_sets = Sets.unchecked(items=sets.items, offsets=narrow(sets.offsets, len(sets.items)))
    users, n_records = (np.concatenate(column) for column in zip(*columns, strict=True))
    return WeightedSets(narrow_sets, users, n_records)


def _sum_of_parts(weighted: WeightedSets, params: Params, parts: int, metric: Metric) -> int:
    """Count the overlaps of each part, then add up the counts of all parts, range by range."""
    counts = count_sizes(weighted, int(weighted.sets.sizes.max(initial=0)))
    limit = short_limit(counts)
    long = count_long(weighted, limit, weighted.sets.width)
    is_short = weighted.sets.sizes <= limit
    short = weighted if is_short.all() else weighted.take(np.flatnonzero(is_short))
    inputs = _parts(short, parts, limit, metric)
    overlaps = [(rows, counted.keep()) for rows, counted in map_ordered(_count_part, inputs)]
    total = 0
    for low in range(0, len(short.sets), SETS_AT_ONCE):
        high = min(low + SETS_AT_ONCE, len(short.sets))
        # int32: intermediate sums may overflow; the final ones are at most the number of records.
        table = np.zeros((high - low, 2, metric.unit * limit + 1), np.int32)
        for rows, counted in overlaps:
            first, last = np.searchsorted(rows, (low, high)).tolist()
            table[rows[first:last] - low] += counted.read(first, last)
        users, n_records = table.transpose(1, 2, 0).astype(np.int64)
        these = _widen(short.take(np.arange(low, high)))
        total += bound_of_sets(these, (users, n_records), counts, long, params, metric)
    for _, counted in overlaps:
        counted.delete()
    return total


def _widen(weighted: WeightedSets) -> WeightedSets:
    sets, users, records = weighted
    return WeightedSets(sets, widen(users), widen(records))


_Part = tuple[StoredColumns, int, Metric]
"""Columns of the sets with an item of one range, and the range; limit; metric."""


def _parts(short: WeightedSets, parts: int, limit: int, metric: Metric) -> Iterator[_Part]:
    sets = short.sets
    support = np.bincount(sets.items, minlength=sets.width)
    part_of_item = (np.cumsum(support) - support) * parts // max(len(sets.items), 1)
    bounds = np.searchsorted(part_of_item, np.arange(parts + 1))
    for first, stop in pairwise(bounds.tolist()):
        # One scan per part takes less memory than to sort all occurrences by part.
        occurrences = np.flatnonzero((sets.items >= first) & (sets.items < stop))
        if len(occurrences):
            found = np.searchsorted(sets.offsets, occurrences, side="right") - 1
            rows: Ints = narrow(found[run_starts(found)], len(sets))
            range_ = np.array([first, stop - 1])
            chosen = short.take(rows)
            columns = chosen.sets.items, chosen.sets.offsets, chosen.users, chosen.records
            yield pass_columns(rows, range_, *columns), limit, metric


def _count_part(part: _Part) -> tuple[Ints, StoredRows]:
    """The sets of a part, ascending, and their counts, in a file if the columns were in one."""
    stored, limit, metric = part
    rows, (first, last), items, offsets, users, records = stored.take()
    sets = Sets.unchecked(items=items, offsets=offsets)
    weighted = _widen(WeightedSets(sets, users, records))
    item = np.arange(sets.width)
    is_first = (item >= first) & (item <= last)
    tables = count_overlaps(weighted, is_first, limit, metric)
    counted = np.stack(tables).transpose(2, 0, 1).astype(np.int32)
    return rows, store_rows(stored.path, counted)
