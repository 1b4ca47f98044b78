"""Who typed which keyword, and which items each thread has: counted block by block.

A log of 20 million queries has 50 million words: each column of 64 bits over all of them is 400 MB,
and sorting one takes several. Of a block, what is left is what differs.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users
from setanon_core.model.queries import Keywords, Queries

WORDS_AT_ONCE: Final = 1 << 20
"""Words of a block, about; or those of one thread."""


def count_keywords(
    typed: Queries, vocabulary: Sequence[str], item: Ints, owner: Ints
) -> tuple[Keywords, Records]:
    """The keywords with their numbers of users, and each thread as a set of items.

    Queries stand in the order of their threads; `item` has the item of each keyword, all in use,
    and `owner` the number of each thread's user.
    """
    width = max(len(item), 1)
    held: list[Ints] = [np.empty(0, np.int64)]
    sizes = [*held]
    items = [np.empty(0, np.int32)]
    for block in thread_blocks(typed, len(owner)):
        holder = block.holder
        # What one user typed stands together, and is almost all of it in one block.
        held.append(sorted_unique(owner[block.first + holder] * width + block.words))
        cells = sorted_unique(holder * width + item[block.words])
        rows = cells // width
        items.append((cells - rows * width).astype(np.int32))
        sizes.append(np.bincount(rows, minlength=block.last - block.first))
    once = sorted_unique(np.concatenate(held))
    known = Keywords(vocabulary, item, np.bincount(once % width, minlength=len(item)))
    sets = Sets.unchecked(items=np.concatenate(items), offsets=offsets_of(np.concatenate(sizes)))
    return known, Records.from_checked_sets(sets, encode_users(owner, len(owner)))


class Block(NamedTuple):
    """The words of some threads, all of theirs."""

    first: int
    last: int
    """The threads are those before this one."""

    words: Ints
    bounds: Ints
    """The words of thread t are those from `bounds[t - first]` to the next of the bounds."""

    @property
    def holder(self) -> Ints:
        """The thread of each word, counted from the first."""
        return np.repeat(np.arange(self.last - self.first), np.diff(self.bounds))


def thread_blocks(typed: Queries, n: int) -> Iterator[Block]:
    """All of n threads, whose queries stand in their order, some after the others."""
    # Where the words of each thread begin.
    begins = typed.offsets[np.searchsorted(typed.threads, np.arange(n + 1))]
    first = 0
    while first < n:
        last = int(np.searchsorted(begins, begins[first] + WORDS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n)
        own = begins[first : last + 1]
        yield Block(first, last, typed.words[own[0] : own[-1]], own - own[0])
        first = last
