"""Min-Hash values over columns: hash the vocabulary once, then take the minimum over each set.

Paper:      section 5.2: "p independent, random seed values, one for each Min-Hash function"; the
            hash value is a proxy for the index in a random permutation of the keywords.
Guarantee:  for each seed the value equals that of datasketch's MinHash with this seed and scheme.
            Two sets have equal values with probability Sim, their Jaccard coefficient, as far as
            datasketch's hash family is min-wise independent (measured, not proved).
Complexity: O(p * (m + N)) for m words and N occurrences.
Deviation:  none. One datasketch object per set computes the same values a hundred times slower:
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
"""Permutation scheme of datasketch, named explicitly because its default changed before."""

EMPTY_SET_VALUE: Final = (1 << 32) - 1
"""The Min-Hash of the empty set, as in datasketch."""


def word_hashes(words: Iterable[str]) -> Hashes:
    """Hash each word to 32 bits, as datasketch does by default; lone surrogates are allowed."""
    # Not by datasketch's function: it converts each hash separately. A test compares the values.
    digests = [
        sha1(word.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()[:4]
        for word in words
    ]
    return np.frombuffer(b"".join(digests), "<u4").astype(np.uint32)


def permuted_hashes(hashes: Hashes, seeds: Sequence[int]) -> Hashes:
    """The value of each hash under the permutation of each seed: one row per hash.

    The permutations are a * fmix(h) + b modulo 2^32 with a odd; fmix is the finalizer of
    MurmurHash3.
    """
    from datasketch import MinHash

    coefficients = [MinHash(num_perm=1, seed=seed, scheme=SCHEME).permutations for seed in seeds]
    a, b = np.concatenate(coefficients, axis=1).astype(np.uint32)
    mixed = hashes.copy()
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(0xC2B2AE35)
    mixed ^= mixed >> np.uint32(16)
    # uint32 arithmetic wraps around: this is the modulo.
    values: Hashes = mixed[:, None] * a + b
    return values


def signatures(sets: Sets, values: Hashes) -> Hashes:
    """The minimum of each column of `values` over each set; `values` has one row per item.

    >>> values = np.array([[7, 1], [5, 3], [6, 2]], np.uint32)
    >>> signatures(Sets(np.array([0, 1, 2]), np.array([0, 2, 3, 3])), values)[:2].tolist()
    [[5, 1], [6, 2]]
    """
    minima = np.full((len(sets), values.shape[1]), EMPTY_SET_VALUE, np.uint32)
    nonempty = sets.sizes > 0
    if nonempty.any():
        starts = sets.offsets[:-1][nonempty]
        for column in range(values.shape[1]):
            minima[nonempty, column] = np.minimum.reduceat(values[sets.items, column], starts)
    return minima
