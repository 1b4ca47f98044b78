"""Split the records of a very large log into parts, so that 64-bit columns exist for one part only.

Guarantee:  every record is in one part, at most; records of a part ascend. `complete_groups` and
            `equal_sets` never split a group, or the records of a set.
Complexity: O(n) for n records: part numbers of 16 bits are sorted by radix, range by range.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges
from setanon_core.columns.narrow import narrow_column
from setanon_core.columns.sets import NUMBER_LIMIT, Sets
from setanon_core.partition.content_hashes import set_hashes

RECORDS_AT_ONCE: Final = 1 << 18
"""Records of a part, approximately: bounds memory."""


def ranges(n: int) -> Iterator[slice]:
    """Consecutive slices of n rows.

    >>> list(ranges(3))
    [slice(0, 3, None)]
    """
    for low in range(0, n, RECORDS_AT_ONCE):
        yield slice(low, min(low + RECORDS_AT_ONCE, n))


def rows_by_part(part: npt.NDArray[np.integer], parts: int) -> list[Ints]:
    """The row numbers of each part 0, ..., parts - 1, ascending; rows of part -1 are left out.

    >>> [rows.tolist() for rows in rows_by_part(np.array([2, 0, -1, 2]), 3)]
    [[1], [], [0, 3]]
    """
    key = part.astype(np.int16 if parts < 1 << 15 else np.int64, copy=False)
    sizes = np.zeros(parts + 1, np.int64)
    for rows in ranges(len(key)):
        sizes += np.bincount(key[rows] + 1, minlength=parts + 1)
    stops = np.cumsum(sizes)
    free = stops - sizes
    # Range by range: sorting all rows at once would need 64-bit row numbers of all of them.
    order: Ints = np.empty(len(key), np.int32 if len(key) < NUMBER_LIMIT else np.int64)
    for rows in ranges(len(key)):
        ascending = np.argsort(key[rows], kind="stable")
        counts = np.bincount(key[rows] + 1, minlength=parts + 1)
        order[concat_ranges(free, counts)] = rows.start + ascending
        free += counts
    return np.split(order, stops[:-1])[1:]


def complete_groups(labels: npt.NDArray[np.integer]) -> Iterator[Ints]:
    """Rows of the records of complete groups, part by part, by label; -1 is no group.

    >>> [rows.tolist() for rows in complete_groups(np.array([5, -1, 5, 3]))]
    [[0, 2, 3]]
    """
    sizes = np.zeros(int(labels.max(initial=-1)) + 2, np.int64)
    for rows in ranges(len(labels)):
        np.add.at(sizes, labels[rows] + 1, 1)
    sizes = sizes[1:]
    part_of_label = (np.cumsum(sizes) - sizes) // RECORDS_AT_ONCE
    parts = int(part_of_label.max(initial=-1)) + 1
    # The appended value is at index -1.
    part_of_label = np.append(part_of_label, -1).astype(np.int16 if parts < 1 << 15 else np.int64)
    yield from rows_by_part(part_of_label[labels], parts)


def equal_sets(sets: Sets) -> Iterator[Ints]:
    """Rows of the records, part by part; a part has all records of its sets."""
    parts = count_parts(len(sets))
    part = narrow_column(len(sets), 0)
    for rows in ranges(len(sets)):
        part[rows] = part_of_set(take_range(sets, rows), parts)
    yield from rows_by_part(part, parts)


def count_parts(n: int) -> int:
    """Number of parts of n records."""
    return n // RECORDS_AT_ONCE + 1


def part_of_set(sets: Sets, parts: int) -> Ints:
    """The part of each set; equal sets have the same part."""
    return (set_hashes(sets) % np.uint64(parts)).astype(np.int64)


def take_range(sets: Sets, rows: slice) -> Sets:
    """The sets of a range, without a copy of the items."""
    bounds = sets.offsets[rows.start : rows.stop + 1].astype(np.int64)
    return Sets.unchecked(items=sets.items[bounds[0] : bounds[-1]], offsets=bounds - bounds[0])


def concat_sets(parts: list[Sets]) -> Sets:
    """All sets of the parts, in that order."""
    empty = np.empty(0, np.int32)
    items = np.concatenate([empty, *(part.items for part in parts)])
    sizes: Ints = np.concatenate([empty, *(part.sizes for part in parts)])
    return Sets.unchecked(items=items, offsets=np.concatenate(([0], np.cumsum(sizes))))
