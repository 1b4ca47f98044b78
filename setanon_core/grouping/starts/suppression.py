"""Group records so that few cells must be suppressed, by a greedy set cover.

Paper:      section 4, Theorem 1 and Corollary 1; the algorithm is Park and Shim's.
Guarantee:  one record per user and at most CANDIDATES candidate groups: stars at most
            2 H(2k-1) times the least, and flips by Algorithm 1 at most (2k-1) H(2k-1) times the
            least of Definition 2, where H(t) = 1 + 1/2 + ... + 1/t. A greedy cover is within
            H(2k-1) of the lightest cover. Making it a partition less than doubles it, because a
            group has at most 2k-1 records, and its non-constant columns are those of the chosen
            groups that it consists of. Flips are at most half of the stars, and
            OPT_* <= (2k-1) OPT_flip. With additions or deletions alone the flips are at most all
            of the stars: twice that factor. Otherwise none, and a note states it.
Complexity: O(n c) for c = C(n,k) + ... + C(n,2k-1) candidates, at most CANDIDATES; for more
            see `intervals`.
Deviation:  k counts distinct users. If a user has several records, candidates are the groups of
            k..2k-1 records of k users, which suffice for a cover but not for the factor: the
            optimum may need larger groups, and merged groups are then unbounded. Single records
            are never withdrawn, so the factors compare with the best grouping of all records.
"""

from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.starts.cover import Partition, labels_of
from setanon_core.grouping.starts.intervals import interval_cover
from setanon_core.model.groups import WITHDRAWN, Grouping
from setanon_core.params import Params

CANDIDATES: Final = 20_000
"""Candidate groups up to which all are enumerated: 49 records at k=2, 19 at k=3, 14 at k=5."""

MAX_WORDS: Final = 2_000_000
"""64-bit words in the bit vectors of all candidates: 16 MB."""

USERS_NOTE: Final = "A user has several records: no factor is proved for suppression."
INTERVALS_NOTE: Final = (
    "Too many groups to try them all: suppression chose among intervals of near records, "
    "for which no factor is proved."
)

Words = npt.NDArray[np.uint64]


def suppression(records: Records, params: Params) -> Grouping:
    """Cover the records with groups of least suppression per record, then make them disjoint.

    >>> figure_1 = Records.from_sets([{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}])
    >>> suppression(figure_1, Params(k=2)).labels.tolist()
    [0, 0, 0, 1, 1]
    """
    n, k = len(records), params.k
    if records.n_users < k:
        return Grouping(np.full(n, WITHDRAWN))
    if n < 2 * k:
        return Grouping(np.zeros(n, np.int64))
    ranks = records.ranks
    if (ranks == ranks[0]).all():
        return Grouping(np.zeros(n, np.int64))
    notes = (USERS_NOTE,) if records.n_users < n else ()
    if _is_small(records, k):
        return Grouping(labels_of(_all_groups(records, k), n), notes=notes)
    groups: list[list[int]] = []
    for group in interval_cover(records, ranks, k):
        groups.extend(_divide(records, ranks, group, k))
    return Grouping(labels_of(sorted(groups), n), notes=(*notes, INTERVALS_NOTE))


def _divide(records: Records, ranks: Ints, group: list[int], k: int) -> list[list[int]]:
    """Split a group further if all its subgroups can be enumerated; the cost never rises."""
    positions = np.asarray(group)
    if len(group) < 2 * k or (ranks[positions] == ranks[positions[0]]).all():
        return [group]
    part = records.subset(positions)
    if not _is_small(part, k):
        return [group]
    return [positions[members].tolist() for members in _all_groups(part, k)]


def _is_small(records: Records, k: int) -> bool:
    n = len(records)
    if n > 64:  # noqa: PLR2004 - one bit per record in a 64-bit word
        return False
    candidates = sum(comb(n, size) for size in range(k, min(2 * k - 1, n) + 1))
    words = 1 + len(records.items) // 64
    return candidates <= CANDIDATES and candidates * words <= MAX_WORDS


def _all_groups(records: Records, k: int) -> list[list[int]]:
    """Park and Shim: every group of k..2k-1 records is a candidate; choose the best, repeatedly."""
    members, sizes = _candidates(len(records), k)
    weights = sizes * _nonconstant(records, k)
    users = records.users
    if records.n_users < len(records):
        weights = np.where(_user_counts(users, members) >= k, weights, np.inf)
    partition = Partition(users.tolist(), k)
    uncovered = np.uint64((1 << len(records)) - 1)
    while uncovered:
        gained = np.bitwise_count(members & uncovered).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            prices = np.where(gained > 0, weights / gained, np.inf)
        chosen = members[np.argmin(prices)]
        partition.add(_positions(int(chosen)))
        uncovered &= ~chosen
    return partition.groups()


@lru_cache(maxsize=64)
def _candidates(n: int, k: int) -> tuple[Words, Ints]:
    """All groups of k..2k-1 of n records, as bits of a word, and their sizes."""
    words = [np.bitwise_or.reduce(_BITS[_indices(n, size)], axis=1) for size in _sizes(n, k)]
    members = np.concatenate(words)
    return members, np.bitwise_count(members).astype(np.int64)


@lru_cache(maxsize=256)
def _indices(n: int, size: int) -> Ints:
    flat = chain.from_iterable(combinations(range(n), size))
    return np.fromiter(flat, np.int64, comb(n, size) * size).reshape(-1, size)


def _sizes(n: int, k: int) -> range:
    return range(k, min(2 * k - 1, n) + 1)


def _nonconstant(records: Records, k: int) -> Ints:
    """nc(S) of all candidates: the columns that are neither all 1 nor all 0 in the group."""
    n = len(records)
    distinct, columns = np.unique(records.items, return_inverse=True)
    bits = np.zeros((n, max(1, -(-len(distinct) // 64)) * 64), np.bool_)
    bits[records.rows, columns] = True
    vectors = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    counts = []
    for size in _sizes(n, k):
        rows = _indices(n, size)
        union, common = vectors[rows[:, 0]], vectors[rows[:, 0]]
        for position in range(1, size):
            other = vectors[rows[:, position]]
            union, common = union | other, common & other
        counts.append(np.bitwise_count(union ^ common).sum(axis=1, dtype=np.int64))
    return np.concatenate(counts)


def _user_counts(users: Ints, members: Words) -> Ints:
    """Number of distinct users of each candidate."""
    counts = np.zeros(len(members), np.int64)
    for user in np.unique(users):
        user_records = np.bitwise_or.reduce(_BITS[np.flatnonzero(users == user)])
        counts += (members & user_records) != 0
    return counts


def _positions(word: int) -> list[int]:
    return [position for position in range(word.bit_length()) if word >> position & 1]


_BITS: Final[Words] = np.uint64(1) << np.arange(64, dtype=np.uint64)
