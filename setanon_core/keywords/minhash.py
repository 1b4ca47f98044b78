"""Min-Hashing over columns: hash the vocabulary once, then take minima over each set.

Paper:      section 5.2: "p independent, random seed values, one for each Min-Hash function"; the
            hash value is a proxy for the index in a random permutation of the keywords.
Guarantee:  for each seed the value is that of datasketch's MinHash for the same seed and scheme;
            two sets share a value with probability Sim, their Jaccard coefficient, as closely as
            datasketch's hash family is min-wise independent (measured, not proved).
Complexity: O(p * (m + N)) for m words and N occurrences.
Deviation:  none. One object for each set would compute the same values a hundred times slower:
            the Min-Hash of a union is the minimum of the Min-Hashes.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha1
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.sets import Sets

Hashes = npt.NDArray[np.uint32]

SCHEME: Final = "affine32"
"""datasketch's permutation scheme, by name: its default has changed once already."""

NOTHING: Final = (1 << 32) - 1
"""The Min-Hash of the empty set, as in datasketch."""


def word_hashes(words: Iterable[str]) -> Hashes:
    """Hash each word to 32 bits, as datasketch does by default.

    Lone surrogates, which broken input may hold, are hashed as they are.
    """
    # Not through datasketch's function, which makes a number of each by itself; a test compares.
    first = [
        sha1(word.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()[:4]
        for word in words
    ]
    return np.frombuffer(b"".join(first), "<u4").astype(np.uint32)


def permuted_hashes(hashes: Hashes, seeds: Sequence[int]) -> Hashes:
    """The value of each hash under the permutation of each seed: one row a hash.

    The family is a * fmix(h) + b modulo 2^32 with a odd, fmix being MurmurHash3's last step.
    """
    from datasketch import MinHash

    pairs = [MinHash(num_perm=1, seed=seed, scheme=SCHEME).permutations for seed in seeds]
    a, b = np.concatenate(pairs, axis=1).astype(np.uint32)
    mixed = hashes.copy()
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    # Wrapping around is the modulo.
    values: Hashes = mixed[:, None] * a + b
    return values


def signatures(sets: Sets, values: Hashes) -> Hashes:
    """The least value over each set, column by column; `values` has a row for each item.

    >>> values = np.array([[7, 1], [5, 3], [6, 2]], np.uint32)
    >>> signatures(Sets(np.array([0, 1, 2]), np.array([0, 2, 3, 3])), values)[:2].tolist()
    [[5, 1], [6, 2]]
    """
    least = np.full((len(sets), values.shape[1]), NOTHING, np.uint32)
    filled = sets.sizes > 0
    if filled.any():
        starts = sets.offsets[:-1][filled]
        for column in range(values.shape[1]):
            held = values[sets.items, column]
            least[filled, column] = np.minimum.reduceat(held, starts)
    return least
