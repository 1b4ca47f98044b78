"""Who typed which keyword, and which items each thread has: counted block by block.

A log of 20 million queries has 50 million words: each column of 64 bits over all of them is 400 MB,
and sorting one takes several. Of a block, what is left is what differs.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from setanon_core.columns import number_users
from setanon_core.edits import Queries
from setanon_core.records import Records
from setanon_core.sets import Ints, bounds_of, distinct_numbers
from setanon_core.spelling import Keywords

WORDS_AT_ONCE: Final = 1 << 20
"""Words of a block, about; or those of one thread."""


def counted(
    typed: Queries, vocabulary: Sequence[str], item: Ints, owner: Ints
) -> tuple[Keywords, Records]:
    """The keywords with their numbers of users, and each thread as a set of items.

    Queries stand in the order of their threads; `item` has the item of each keyword, all in use,
    and `owner` the number of each thread's user.
    """
    width = max(len(item), 1)
    held: list[Ints] = [np.empty(0, np.int64)]
    items, sizes = [*held], [*held]
    for first, last, words, holder in _blocks(typed, len(owner)):
        # What one user typed stands together, and is almost all of it in one block.
        held.append(distinct_numbers(owner[first + holder] * width + words))
        cells = distinct_numbers(holder * width + item[words])
        rows = cells // width
        items.append(cells - rows * width)
        sizes.append(np.bincount(rows, minlength=last - first))
    once = distinct_numbers(np.concatenate(held))
    known = Keywords(vocabulary, item, np.bincount(once % width, minlength=len(item)))
    names = tuple(range(int(item.max(initial=-1)) + 1))
    bounds = bounds_of(np.concatenate(sizes))
    users = number_users(owner, len(owner))
    return known, Records(np.concatenate(items), bounds, users, names)


def _blocks(typed: Queries, n: int) -> Iterator[tuple[int, int, Ints, Ints]]:
    """First and last thread of each block, its words, and the thread of each, from the first on."""
    # Where the words of each thread begin.
    begins = typed.offsets[np.searchsorted(typed.threads, np.arange(n + 1))]
    first = 0
    while first < n:
        last = int(np.searchsorted(begins, begins[first] + WORDS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n)
        own = begins[first : last + 1]
        holder = np.repeat(np.arange(last - first), np.diff(own))
        yield first, last, typed.words[own[0] : own[-1]], holder
        first = last
