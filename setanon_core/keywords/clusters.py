"""Keys that put similar records into one cluster, all rounds at once.

Paper:      section 5.2: p concatenated Min-Hash keys agree with probability Sim^p; clusters of
            fewer than k are deleted, and typical values of p are 2 to 4.
Guarantee:  none; heuristic. A key says where a record is looked at, never what is published.
Complexity: O(p * (m + N)) for m items and N occurrences.
Deviation:  several rounds of falling p instead of one; the key of p Min-Hashes is mixed into 64
            bits, so that one column holds it: different keys meet by chance once in 2^64 pairs.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.hashing import mix64
from setanon_core.columns.sets import Sets
from setanon_core.keywords.minhash import Hashes, permuted_hashes, signatures

Keys = npt.NDArray[np.uint64]

ROUNDS: Final = (3, 2, 1)
"""Min-Hashes in the key of each round: first the most alike, then what is left."""


def cluster_keys(
    records: Sets, hashes: Hashes, rounds: Sequence[int] = ROUNDS, seed: int = 1
) -> Keys:
    """One row of keys for each record: a column for each round.

    `hashes` has one value for each item. An empty record has the key of the empty set. The key of
    a record is a function of its own items alone.
    """
    p = max(rounds, default=0)
    values = signatures(records, permuted_hashes(hashes, range(seed, seed + p)))
    return np.column_stack([_mixed(values[:, :first]) for first in rounds])


def number_clusters(keys: Keys) -> Ints:
    """Number the clusters of one round, in the order of their keys."""
    _, numbers = np.unique(keys, return_inverse=True)
    return numbers


def _mixed(values: Hashes) -> Keys:
    """Concatenate Min-Hashes: two fit side by side, more are mixed in, one after the other."""
    key = np.zeros(len(values), np.uint64)
    for column in values.T:
        key = mix64(key)
        key = (key << np.uint64(32) | key >> np.uint64(32)) ^ column
    return key
