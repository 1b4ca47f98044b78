"""Build the record of each thread, and count the owners of each keyword, in batches of threads.

A log of 20 million queries has 50 million words: one int64 column over all words takes 400 MB, and
sorting it takes several times that. Only the distinct values of each batch are stored.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
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
    width = max(len(item), 1)
    # Empty arrays first: `np.concatenate` needs at least one.
    owner_keyword_pairs = [np.empty(0, np.int64)]
    sizes = [np.empty(0, np.int64)]
    items = [np.empty(0, np.int32)]
    for batch in thread_batches(typed, len(owner)):
        rows = batch.rows
        # Threads of one user are consecutive: a batch contains almost all repeats of a pair.
        pairs = owner[batch.first + rows] * width + batch.words
        owner_keyword_pairs.append(sorted_unique(pairs))
        # A cell is a pair (thread, item) as one number.
        cells = sorted_unique(rows * width + item[batch.words])
        rows = cells // width
        items.append((cells - rows * width).astype(np.int32))
        sizes.append(np.bincount(rows, minlength=batch.stop - batch.first))
    distinct_pairs = sorted_unique(np.concatenate(owner_keyword_pairs))
    owners_of_keyword = np.bincount(distinct_pairs % width, minlength=len(item))
    sets = Sets.unchecked(items=np.concatenate(items), offsets=offsets_of(np.concatenate(sizes)))
    records = Records.from_checked_sets(sets, encode_users(owner, len(owner)))
    return Keywords(vocabulary, item, owners_of_keyword), records


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
