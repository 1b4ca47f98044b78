"""Random blocks for the tests of the local search."""

from collections.abc import Iterator

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.grouping.improve.block import Block, block_of
from setanon_core.params import Operations
from support.oracles import random_records


def random_blocks(
    operations: Operations, count: int = 25, largest: int = 14
) -> Iterator[tuple[Block, Records, Ints]]:
    """Blocks whose groups have k users; users repeat, and some records are withdrawn."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(4, largest)), int(rng.integers(2, 4))
        records = random_records(rng, n, int(rng.integers(2, 7)), (None, 4, n)[seed % 3])
        if records.n_users < k:
            continue
        labels = rng.integers(0, max(n // (k + 1), 1), n)
        if operations != "additions":
            labels[rng.random(n) < 0.2] = -1
        for label in np.unique(labels):
            if len(np.unique(records.users[labels == label])) < k:
                labels[labels == label] = -1
        if operations == "additions" and (labels == -1).any():
            labels[:] = 0  # no record may be withdrawn
        yield block_of(records, labels, k, operations), records, labels
