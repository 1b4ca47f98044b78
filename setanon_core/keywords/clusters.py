"""Min-Hash keys that put similar records into one cluster, for several rounds at once.

Paper:      section 5.2: p concatenated Min-Hash keys are equal with probability Sim^p; clusters of
            fewer than k are deleted, and typical values of p are 2 to 4.
Guarantee:  none; heuristic. A key decides which records are grouped together, never what is
            published.
Complexity: O(p * (m + N)) for m items and N occurrences.
Deviation:  several rounds with decreasing p instead of one. The key of p Min-Hashes is mixed into
            64 bits, to fit into one column: collision probability 2^-64 per pair.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, Keys, mix64
from setanon_core.columns.sets import Sets
from setanon_core.keywords.minhash import Hashes, permuted_hashes, signatures

ROUNDS: Final = (3, 2, 1)
"""Min-Hashes in the key of each round: the most similar records first."""


def cluster_keys(
    records: Sets, hashes: Hashes, rounds: Sequence[int] = ROUNDS, seed: int = 1
) -> Keys:
    """The keys of each record: one row per record, one column per round.

    `hashes` has one value per item. The key of a record is a function of its items alone; all
    empty records have one key.
    """
    p = max(rounds, default=0)
    values = signatures(records, permuted_hashes(hashes, range(seed, seed + p)))
    return np.column_stack([_combine(values[:, :count]) for count in rounds])


def number_clusters(keys: Keys) -> Ints:
    """Number the clusters of one round, in the order of their keys."""
    _, numbers = np.unique(keys, return_inverse=True)
    return numbers


def _combine(values: Hashes) -> Keys:
    """Combine the Min-Hashes of each row into one 64-bit key."""
    key = np.zeros(len(values), np.uint64)
    for column in values.T:
        key = mix64(key)
        key = (key << np.uint64(32) | key >> np.uint64(32)) ^ column
    return key
