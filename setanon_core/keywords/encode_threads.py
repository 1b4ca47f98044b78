"""Build the record of each thread, and count the owners of each keyword, in batches of threads.

A log of 20 million queries has 50 million words: one int64 column over all words takes 400 MB, and
sorting it takes several times that. Only the items of each batch are stored, and the pairs of users
whose threads may be in several batches.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, run_starts, sorted_unique
from setanon_core.columns.narrow import narrow, narrow_column, widen
from setanon_core.columns.records import Records
from setanon_core.columns.sets import Sets
from setanon_core.columns.users import encode_users
from setanon_core.model.queries import Keywords, Queries

WORDS_PER_BATCH: Final = 1 << 20
"""Approximate number of words of a batch; a thread is never split."""


def encode_threads(
    typed: Queries, vocabulary: Sequence[str], item: Ints, owner: Ints
) -> tuple[Keywords, Records]:
    """Return the keywords with their numbers of owners, and each thread as a set of items.

    The queries must be sorted by thread. `item` is the item of each keyword, without unused
    numbers; `owner` is the user number of each thread.
    """
    counter, parts = OwnerCounter(len(item), owner), []
    for batch in thread_batches(typed, len(owner)):
        counter.add(batch)
        parts.append(batch_sets(batch, item))
    sets = concat_batches(parts)
    records = Records.from_checked_sets(sets, encode_users(owner, len(owner)))
    return Keywords(vocabulary, item, counter.finish()), records


def batch_sets(batch: "ThreadBatch", item: Ints) -> Sets:
    """The set of items of each thread of a batch; `item` is the item of each keyword."""
    width = max(len(item), 1)
    # A cell is a pair (thread, item) as one number.
    cells = sorted_unique(batch.rows * width + item[batch.words])
    rows = cells // width
    items = (cells - rows * width).astype(np.int32)
    sizes = np.bincount(rows, minlength=batch.stop - batch.first)
    return Sets.unchecked(items=items, offsets=narrow(offsets_of(sizes), len(items)))


def concat_batches(parts: list[Sets]) -> Sets:
    """All sets of the batches, which are removed from the list: they are large."""
    # Empty arrays first: `np.concatenate` needs at least one.
    sizes = [narrow_column(0, 0), *(part.sizes for part in parts)]
    items = np.concatenate([np.empty(0, np.int32), *(part.items for part in parts)])
    parts.clear()
    return Sets.unchecked(items=items, offsets=offsets_of(np.concatenate(sizes)))


class OwnerCounter:
    """Counts the users who typed each keyword, batch by batch."""

    def __init__(self, keywords: int, owner: Ints) -> None:
        """`owner` is the user number of each thread."""
        self.owner, self.width = owner, max(keywords, 1)
        # All threads of a user that is within one batch are in this batch.
        runs = np.count_nonzero(run_starts(owner)) if len(owner) else 0
        self.adjacent = runs == len(sorted_unique(owner))
        self.owners_of_keyword = np.zeros(keywords, np.int64)
        self.pairs_of_several_batches = [np.empty(0, np.int64)]

    def add(self, batch: "ThreadBatch") -> None:
        """Add all words of the next threads."""
        owner = widen(self.owner[batch.first : batch.stop])
        pairs = sorted_unique(owner[batch.rows] * self.width + batch.words)
        owners = pairs // self.width
        is_within = (owners != owner[0]) & (owners != owner[-1]) & self.adjacent
        words = pairs[is_within] - owners[is_within] * self.width
        self.owners_of_keyword += np.bincount(words, minlength=len(self.owners_of_keyword))
        self.pairs_of_several_batches.append(pairs[~is_within])

    def finish(self) -> Ints:
        """The number of owners of each keyword."""
        pairs = sorted_unique(np.concatenate(self.pairs_of_several_batches))
        more = np.bincount(pairs % self.width, minlength=len(self.owners_of_keyword))
        self.owners_of_keyword += more
        return self.owners_of_keyword


class ThreadBatch(NamedTuple):
    """All words of the threads `first`, ..., `stop - 1`."""

    first: int
    stop: int
    words: Ints
    offsets: Ints
    """Thread t has the words from `offsets[t - first]` to `offsets[t - first + 1]`."""

    @property
    def rows(self) -> Ints:
        """The thread of each word, minus `first`."""
        return np.repeat(np.arange(self.stop - self.first), np.diff(self.offsets))


def thread_batches(typed: Queries, n: int) -> Iterator[ThreadBatch]:
    """Yield the n threads in batches; the queries must be sorted by thread."""
    starts = typed.offsets[np.searchsorted(typed.threads, np.arange(n + 1))]
    first = 0
    while first < n:
        stop = int(np.searchsorted(starts, starts[first] + WORDS_PER_BATCH, side="right")) - 1
        stop = min(max(stop, first + 1), n)
        bounds = starts[first : stop + 1]
        yield ThreadBatch(first, stop, typed.words[bounds[0] : bounds[-1]], bounds - bounds[0])
        first = stop
