"""Weight of the intersection of two sets, for many pairs of sets at once.

Complexity: O(1) for most pairs of disjoint sets (about 49 of 50); O(items) for all other pairs.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
from setanon_core.columns.encode import encode_first_seen
from setanon_core.columns.sets import Sets

Name = TypeVar("Name", bound=Hashable)


def encode_sets(collections: Iterable[Sequence[Name]]) -> tuple[Sets, list[Name]]:
    """Number the members of all collections by first appearance; return sets and members."""
    listed = list(collections)
    sizes = np.fromiter(map(len, listed), np.int64, len(listed))
    return encode_flat_sets(chain.from_iterable(listed), sizes)


def encode_flat_sets(members: Iterable[Name], sizes: Ints) -> tuple[Sets, list[Name]]:
    """`encode_sets` for concatenated collections of these sizes."""
    numbers, distinct = encode_first_seen(members)
    n, width = len(sizes), max(len(distinct), 1)
    cells = sorted_unique(np.repeat(np.arange(n) * width, sizes) + numbers)
    rows = cells // width
    return Sets(cells - rows * width, offsets_of(np.bincount(rows, minlength=n))), distinct


def intersection_weights(sets: Sets, weights: Ints) -> Callable[[Ints, Ints], Ints]:
    """Return a function that maps two columns of set numbers to the weights of intersections."""
    intersecting = intersecting_pairs(sets, weights)

    def weights_of_pairs(a: Ints, b: Ints) -> Ints:
        weight = np.zeros(len(a), np.int64)
        pairs, shared = intersecting(a, b)
        weight[pairs] = shared
        return weight

    return weights_of_pairs


def intersecting_pairs(sets: Sets, weights: Ints) -> Callable[[Ints, Ints], tuple[Ints, Ints]]:
    """Return a function that finds the pairs that may intersect, and their weights.

    It maps two columns of set numbers to the positions of these pairs, a superset of those that
    intersect, and to the weight of each intersection.
    """
    from scipy.sparse import csr_array

    shape = (len(sets), sets.width)
    weighted = csr_array((weights[sets.items], sets.items, sets.offsets), shape)
    present = csr_array((np.ones(len(sets.items), np.int64), sets.items, sets.offsets), shape)
    low, high = _bit_signatures(sets, sets.items), _bit_signatures(sets, sets.items // 64)

    def intersecting(a: Ints, b: Ints) -> tuple[Ints, Ints]:
        # Sets whose signatures have no bit in common are disjoint: this removes most pairs.
        pairs = np.flatnonzero(low[a] & low[b])
        pairs = pairs[(high[a[pairs]] & high[b[pairs]]) > 0]
        return pairs, weighted[a[pairs]].multiply(present[b[pairs]]).sum(axis=1)

    return intersecting


def _bit_signatures(sets: Sets, numbers: Ints) -> npt.NDArray[np.uint64]:
    """Per set, the union of one bit per item: bit `number % 64`; items may share a bit."""
    bits = np.left_shift(np.uint64(1), (numbers % 64).astype(np.uint64))
    signatures = np.zeros(len(sets), np.uint64)
    np.bitwise_or.at(signatures, sets.rows, bits)
    return signatures
