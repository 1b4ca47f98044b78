"""Synthetic records: small instances, and threads of a query log."""

import numpy as np

from setanon_core.columns.records import Records

NOISE = 0.12
"""Probability that an item of a small instance differs from its topic."""

NEXT_WORD = (0.45, 0.25, 0.12, 0.08)
"""Probability that a thread has its topic's second, third, fourth and fifth word."""

PLACE, COMMON, RARE = 0.25, 0.3, 0.12
"""Probability of a place name, of a word common to all topics, and of a unique word."""

COMMON_WORDS = 200


def small_instance(rng: np.random.Generator, *, realistic: bool, repeated: bool) -> Records:
    """Between 8 and 14 records: random, or variations of two or three topics."""
    n, m = int(rng.integers(8, 15)), int(rng.integers(4, 12))
    if realistic:
        topics = np.zeros((rng.integers(2, 4), m), np.bool_)
        for topic in topics:
            topic[rng.choice(m, rng.integers(1, 5), replace=False)] = True
        matrix = topics[rng.integers(len(topics), size=n)] ^ (rng.random((n, m)) < NOISE)
    else:
        matrix = rng.random((n, m)) < rng.uniform(0.15, 0.5)
    # Records are non-empty in the paper; an empty one would be withdrawn at no cost.
    matrix[np.arange(n), rng.integers(m, size=n)] |= ~matrix.any(axis=1)
    users = rng.integers(0, max(6, n - 3), n) if repeated else np.arange(n)
    return Records.from_sets([np.flatnonzero(row).tolist() for row in matrix], users.tolist())


def log_threads(n: int, seed: int = 0) -> Records:
    """Threads of a query log, 2.6 keywords each: Zipf topics, refinements, places, rare names.

    The numbers of topics and places grow with the square root of n, as vocabularies do. On average
    a user has two threads.
    """
    rng = np.random.default_rng(seed)
    topics, places = int(30 * np.sqrt(n)), int(4 * np.sqrt(n))
    topic = _zipf(rng, topics, n, 0.9)
    words = len(NEXT_WORD) + 1
    rows, columns = [np.arange(n)], [topic * words]
    for word, chance in enumerate(NEXT_WORD, start=1):
        has = np.flatnonzero(rng.random(n) < chance)
        rows.append(has)
        columns.append(topic[has] * words + word)
    first = topics * words
    for chance, kinds, power in ((PLACE, places, 1), (COMMON, COMMON_WORDS, 1), (RARE, n, 0)):
        has = np.flatnonzero(rng.random(n) < chance)
        rows.append(has)
        columns.append(first + _zipf(rng, kinds, len(has), power))
        first += kinds
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(row, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n))))
    return Records.from_columns(column[order], offsets, rng.integers(0, max(n // 2, 1), n))


def _zipf(
    rng: np.random.Generator, kinds: int, n: int, power: float
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    weight = np.arange(1, kinds + 1) ** -float(power)
    return rng.choice(kinds, n, p=weight / weight.sum())
