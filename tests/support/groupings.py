"""Random feasible groupings: large groups, users with many records, label numbers with gaps."""

from collections.abc import Iterator

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_core.columns.records import Records
from setanon_core.model.groups import WITHDRAWN
from setanon_core.params import OPERATIONS, Params
from support.oracles import random_records


def feasible_groupings(count: int, largest: int = 60) -> Iterator[tuple[Records, Ints, Params]]:
    """Yield at most `count` records, labels and parameters; the operations alternate."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(3, largest)), int(rng.integers(2, 5))
        operations = OPERATIONS[seed % 3]
        n_users = (None, n // 2 + 1, 5)[seed % 4 % 3]
        records = random_records(rng, n, int(rng.integers(2, 8)), n_users)
        if seed % 4 == 3:
            users = np.where(rng.random(n) < 0.7, 0, records.users)
            records = Records(records.items, records.offsets, users)
        if records.n_users < k:
            continue
        labels = rng.integers(0, max(n // (2 * k), 1), n)
        if operations != "additions":
            labels[rng.random(n) < 0.2] = WITHDRAWN
        for label in np.unique(labels):
            if len(np.unique(records.users[labels == label])) < k:
                labels[labels == label] = WITHDRAWN
        if operations == "additions" and (labels == WITHDRAWN).any():
            labels[:] = 0
        names = rng.permutation(3 * n)
        labels = np.where(labels < 0, WITHDRAWN, names[labels])
        yield records, labels, Params(k, operations=operations)
