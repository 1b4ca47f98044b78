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

from setanon_core.minhash import Hashes, permuted, signatures
from setanon_core.sets import Ints, Sets

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
    values = signatures(records, permuted(hashes, range(seed, seed + p)))
    return np.column_stack([_mixed(values[:, :first]) for first in rounds])


def clusters(keys: Keys) -> Ints:
    """Number the clusters of one round, in the order of their keys."""
    _, numbers = np.unique(keys, return_inverse=True)
    return numbers


def _mixed(values: Hashes) -> Keys:
    """Concatenate Min-Hashes: two fit side by side, more are mixed in, one after the other."""
    key = np.zeros(len(values), np.uint64)
    for column in values.T:
        key = mixed(key)
        key = (key << np.uint64(32) | key >> np.uint64(32)) ^ column
    return key


def mixed(numbers: Keys) -> Keys:
    """The finalizer of splitmix64: a bijection after which near numbers are far apart."""
    key = numbers ^ numbers >> np.uint64(30)
    key *= np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(27)
    key *= np.uint64(0x94D049BB133111EB)
    key ^= key >> np.uint64(31)
    return key
