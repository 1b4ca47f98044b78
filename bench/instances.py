"""Made-up data of the shapes that the library meets: small instances, threads of a log, baskets."""

import numpy as np

from setanon_core.records import Records


def small(rng: np.random.Generator, *, realistic: bool, repeated: bool) -> Records:
    """Between 8 and 14 records: noise, or variations on two or three topics."""
    n, m = int(rng.integers(8, 15)), int(rng.integers(4, 12))
    if realistic:
        topics = [rng.choice(m, rng.integers(1, 5), replace=False) for _ in range(rng.integers(2, 4))]
        held = np.zeros((n, m), bool)
        for row in held:
            row[topics[rng.integers(len(topics))]] = True
            row ^= rng.random(m) < 0.12
    else:
        held = rng.random((n, m)) < rng.uniform(0.15, 0.5)
    users = rng.integers(0, max(6, n - 3), n) if repeated else np.arange(n)
    return Records.from_sets([np.flatnonzero(row).tolist() for row in held], users.tolist())


def threads(n: int, seed: int = 0) -> Records:
    """Threads of a query log: topics by Zipf, refinements, places, rare names; 2.6 keywords each.

    The number of topics and keywords grows with the square root of n, as vocabularies do.
    """
    rng = np.random.default_rng(seed)
    topics, places = int(30 * np.sqrt(n)), int(4 * np.sqrt(n))
    popularity = 1 / np.arange(1, topics + 1) ** 0.9
    topic = rng.choice(topics, n, p=popularity / popularity.sum())
    columns = [topic * 10]  # the head word of the topic
    rows = [np.arange(n)]
    for word, chance in ((1, 0.45), (2, 0.25), (3, 0.12), (4, 0.08)):
        has = rng.random(n) < chance
        rows.append(np.flatnonzero(has))
        columns.append(topic[has] * 10 + word)
    has = rng.random(n) < 0.25
    rows.append(np.flatnonzero(has))
    columns.append(10 * topics + _zipf(rng, places, int(has.sum())))
    has = rng.random(n) < 0.3
    rows.append(np.flatnonzero(has))
    columns.append(10 * topics + places + _zipf(rng, 200, int(has.sum())))
    has = rng.random(n) < 0.12
    rows.append(np.flatnonzero(has))
    columns.append(10 * topics + places + 200 + rng.integers(0, n, int(has.sum())))
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(row, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n))))
    return Records.from_columns(column[order], offsets, rng.integers(0, max(n // 2, 1), n))


def _zipf(rng: np.random.Generator, kinds: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    weight = 1 / np.arange(1, kinds + 1)
    return rng.choice(kinds, n, p=weight / weight.sum())
