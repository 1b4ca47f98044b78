"""Iterate over the words of all threads in batches of complete threads."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.model.queries import Queries

WORDS_PER_BATCH: Final = 1 << 20
"""Approximate number of words of a batch; a thread is never split."""


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
