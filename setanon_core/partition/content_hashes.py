"""64-bit hashes of sets and records, for decisions that must not depend on the input order."""

from collections.abc import Iterable

import numpy as np

from setanon_core.columns.arrays import Keys, mix64, run_starts
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
        add_digests(digests, records)
    return digests


def add_digests(digests: Keys, records: Records) -> None:
    """Add the sets of some records to the digests of their users."""
    np.add.at(digests, records.users, mix64(set_hashes(records)))


def user_keys(digests: Keys) -> Keys:
    """A key of each user, different for users of equal digests: these get any of their keys.

    >>> keys = user_keys(np.array([5, 7, 5], np.uint64))
    >>> len(set(keys.tolist()))
    3
    """
    order = np.argsort(digests, kind="stable")
    starts = run_starts(digests[order])
    nth = np.arange(len(order)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    keys: Keys = np.empty(len(order), np.uint64)
    keys[order] = mix64(digests[order] + mix64(nth.astype(np.uint64)))
    return keys


def record_hashes(records: Records, keys: Keys) -> Keys:
    """A hash of the items of each record and of its user, whose key is that of `user_keys`."""
    return mix64(set_hashes(records) + keys[records.users])
