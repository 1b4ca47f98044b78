"""64-bit hashes of sets and records, for decisions that must not depend on the input order."""

import numpy as np

from setanon_core.columns.arrays import Keys, mix64
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets


def set_hashes(sets: Sets) -> Keys:
    """A hash of the items of each set; equal sets have equal hashes.

    >>> hashes = set_hashes(Sets(np.array([1, 2, 1]), np.array([0, 1, 2, 3])))
    >>> (hashes[0] == hashes[2], hashes[0] == hashes[1])
    (np.True_, np.False_)
    """
    sums = np.zeros(len(sets), np.uint64)
    nonempty = np.flatnonzero(sets.sizes)
    if len(nonempty):
        terms = mix64(sets.items.astype(np.uint64) + np.uint64(1))
        sums[nonempty] = np.add.reduceat(terms, sets.offsets[:-1][nonempty])
    return mix64(sums)


def record_hashes(records: Records) -> Keys:
    """A hash of the items and the user number of each record."""
    return mix64(set_hashes(records) + mix64(records.users.astype(np.uint64) + np.uint64(1)))
