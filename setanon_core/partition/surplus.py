"""Surplus duplicates of records in parts: the records of a set are brought together by its hash.

Paper:      none; see `duplicates`.
Guarantee:  that of `duplicates`. Which records of a set remain depends on the sets of their users,
            not on the order of the records or the numbers of the users.
Complexity: that of `surplus_duplicates` for parts of equal sets; each record is stored once more,
            in a file of its part.
Deviation:  not in the paper.
"""

import numpy as np

from setanon_core.columns.arrays import Bools, Ints, Keys, inverse_permutation, offsets_of
from setanon_core.columns.narrow import narrow, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import user_ranks
from setanon_core.grouping.improve.duplicates import count_undersized, surplus_of_sets
from setanon_core.params import Params
from setanon_core.partition.parts import count_parts, equal_sets, part_of_set, rows_by_part
from setanon_core.partition.record_parts import RecordParts
from setanon_core.runtime.column_files import Column, StoredColumns, store_columns


def surplus_of_parts(parts: RecordParts, params: Params, keys: Keys) -> list[Bools]:
    """`surplus_duplicates` of all records, for each part; users are in the order of `keys`."""
    stored, starts = _by_set(parts, inverse_permutation(np.argsort(keys, kind="stable")))
    undersized = np.zeros(parts.width, np.int64)
    for columns in stored:
        _, records = _join([each.read() for each in columns])
        undersized += count_undersized(records, params, parts.width)
    surplus = np.zeros(len(parts), np.bool_)
    for columns in stored:
        rows, records = _join([each.take() for each in columns])
        surplus[rows] = surplus_of_sets(records, params, undersized)
    return np.split(surplus, starts)


def _by_set(parts: RecordParts, number: Ints) -> tuple[list[list[StoredColumns]], list[int]]:
    """Files of all records whose sets have equal hashes; where the parts after the first begin."""
    n_parts = count_parts(len(parts))
    stored: list[list[StoredColumns]] = [[] for _ in range(n_parts)]
    starts, start = [], 0
    for records in parts:
        for rows, files in zip(
            rows_by_part(part_of_set(records, n_parts), n_parts), stored, strict=True
        ):
            sets, users = records.take(rows), number[records.users[rows]]
            columns = narrow(start + rows, len(parts)), sets.items, sets.sizes
            files.append(store_columns(*columns, narrow(users, parts.n_users)))
        start += len(records)
        starts.append(start)
    return stored, starts[:-1]


def _join(parts: list[tuple[Column, ...]]) -> tuple[Ints, Records]:
    """Row numbers and records of all files of one hash."""
    if not parts:
        return np.empty(0, np.int64), Records.from_sets([])
    rows, items, sizes, users = map(np.concatenate, zip(*parts, strict=True))
    sets = Sets.unchecked(items=items, offsets=offsets_of(sizes))
    return rows, Records.from_checked_sets(sets, widen(users))


def count_unshared(records: Records, surplus: Bools, k: int) -> int:
    """Number of surplus records whose sets fewer than k users of surplus records have.

    It is 0 for the surplus records that were found with this k; such a set is not a group.
    """
    kept = np.flatnonzero(surplus)
    unshared = 0
    for part in equal_sets(records.take(kept)):
        these = records.subset(kept[part])
        unshared += int((user_ranks(these.ranks, these.users)[1] < k).sum())
    return unshared
