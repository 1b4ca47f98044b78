"""What sets have in common, weighed, for many pairs of sets at once.

Complexity: O(1) for a pair without common items, but for one in fifty of them; else O(items).
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
    """Number what the collections hold, by first appearance, and return them as sets."""
    found = list(collections)
    sizes = np.fromiter(map(len, found), np.int64, len(found))
    return as_sets(chain.from_iterable(found), sizes)


def as_sets(names: Iterable[Name], sizes: Ints) -> tuple[Sets, list[Name]]:
    """The same for names in a row, and how many of them each collection has."""
    numbers, distinct = encode_first_seen(names)
    n, width = len(sizes), max(len(distinct), 1)
    cells = sorted_unique(np.repeat(np.arange(n) * width, sizes) + numbers)
    rows = cells // width
    return Sets(cells - rows * width, offsets_of(np.bincount(rows, minlength=n))), distinct


def common_weight(sets: Sets, weights: Ints) -> Callable[[Ints, Ints], Ints]:
    """Weigh what two sets have in common, for many pairs of sets at once."""
    sharing = shared_weight(sets, weights)

    def common(a: Ints, b: Ints) -> Ints:
        weight = np.zeros(len(a), np.int64)
        pairs, shared = sharing(a, b)
        weight[pairs] = shared
        return weight

    return common


def shared_weight(sets: Sets, weights: Ints) -> Callable[[Ints, Ints], tuple[Ints, Ints]]:
    """The same for those pairs that may have something in common: which ones, and its weight."""
    from scipy.sparse import csr_array

    shape = (len(sets), sets.width)
    weighed = csr_array((weights[sets.items], sets.items, sets.offsets), shape)
    present = csr_array((np.ones(len(sets.items), np.int64), sets.items, sets.offsets), shape)
    masks, others = _item_masks(sets, sets.items), _item_masks(sets, sets.items // 64)

    def sharing(a: Ints, b: Ints) -> tuple[Ints, Ints]:
        # Sets without a common bit have nothing in common; most pairs end here.
        pairs = np.flatnonzero(masks[a] & masks[b])
        pairs = pairs[(others[a[pairs]] & others[b[pairs]]) > 0]
        return pairs, weighed[a[pairs]].multiply(present[b[pairs]]).sum(axis=1)

    return sharing


def _item_masks(sets: Sets, numbers: Ints) -> npt.NDArray[np.uint64]:
    """One bit for each item of a set, which others may have too."""
    bits = np.left_shift(np.uint64(1), (numbers % 64).astype(np.uint64))
    masks = np.zeros(len(sets), np.uint64)
    np.bitwise_or.at(masks, sets.rows, bits)
    return masks
