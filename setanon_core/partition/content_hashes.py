"""64-bit hashes of sets and records, for decisions that must not depend on the input order."""

from collections.abc import Iterable

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


def user_digests(parts: Iterable[Records], n_users: int) -> Keys:
    """A hash of all sets of each user: independent of the order of records and of user numbers."""
    digests: Keys = np.zeros(n_users, np.uint64)
    for records in parts:
        np.add.at(digests, records.users, mix64(set_hashes(records)))
    return digests


def record_hashes(records: Records, digests: Keys) -> Keys:
    """A hash of the items of each record and of all sets of its user, given by `user_digests`."""
    return mix64(set_hashes(records) + mix64(digests[records.users]))
