"""Map keywords to items: one item per keyword, or one per class of equal Min-Hashes.

Paper:      section 5.3: a thread is a set of LSH(e_j), "a concatenation of Min-Hashes of the
            keyword", each keyword being "a multiset of characters".
Guarantee:  whether two keywords share an item depends on these two keywords alone.
Complexity: O(characters).
Deviation:  `exact` identity makes every keyword its own item. It is the default because Min-Hashes
            of characters merge far more unrelated words than misspelled ones (docs/keywords.md).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, inverse_permutation, offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.sets import Sets
from setanon_core.keywords.minhash import Hashes, permuted_hashes, signatures, word_hashes
from setanon_core.params import Identity

HASHES: Final = 3
"""Number of Min-Hashes in LSH(e_j)."""


def items_of(
    vocabulary: Sequence[str], identity: Identity = "exact", hashes: int = HASHES, seed: int = 1
) -> Ints:
    """The item number of each keyword.

    >>> items_of(["listen", "silent", "tuna"], "minhash").tolist()
    [0, 0, 1]
    """
    if identity == "exact" or not vocabulary:
        return np.arange(len(vocabulary))
    _, first, item = np.unique(
        _character_hashes(vocabulary, hashes, seed), axis=0, return_index=True, return_inverse=True
    )
    # Numbered in the order of the vocabulary, not of the hash values.
    items: Ints = inverse_permutation(np.argsort(first))[item.ravel()]
    return items


def item_names(
    vocabulary: Sequence[str], identity: Identity = "exact"
) -> tuple[Sequence[str], Ints]:
    """The sorted names of the items of these keywords, and the item number of each keyword.

    A name is a function of the keyword alone: the keyword itself, or LSH(e_j) in hexadecimal.

    >>> names, numbers = item_names(["listen", "silent", "tuna"], "minhash")
    >>> [len(name) for name in names], int(numbers[0]) == int(numbers[1])
    ([24, 24], True)
    """
    if identity == "exact" or not vocabulary:
        return vocabulary, np.arange(len(vocabulary))
    hexadecimal = _character_hashes(vocabulary, HASHES, 1).astype(">u4").tobytes().hex()
    width = 8 * HASHES
    numbers, names = encode_values(
        [hexadecimal[start : start + width] for start in range(0, len(hexadecimal), width)]
    )
    return [str(name) for name in names], numbers


def _character_hashes(vocabulary: Sequence[str], hashes: int, seed: int) -> Hashes:
    """The Min-Hashes of each keyword as a multiset of characters: one row per keyword."""
    multisets = [sorted(_multiset(word)) for word in vocabulary]
    names = sorted({element for multiset in multisets for element in multiset})
    number = {name: position for position, name in enumerate(names)}
    sets = Sets(
        np.asarray([number[element] for multiset in multisets for element in multiset], np.int64),
        offsets_of(np.asarray([len(multiset) for multiset in multisets])),
    )
    return signatures(sets, permuted_hashes(word_hashes(names), range(seed, seed + hashes)))


def _multiset(word: str) -> list[str]:
    """A multiset as a set of numbered characters: the second `a` is `a1`, the first `a0`."""
    return [f"{letter}{n}" for letter, count in Counter(word).items() for n in range(count)]
