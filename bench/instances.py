"""Made-up data of the shapes that the library meets: small instances, and threads of a log."""

import numpy as np

from setanon_core.columns.records import Records

NOISE = 0.12
"""Chance that an item of a small instance is flipped, off its topic."""

REFINED = (0.45, 0.25, 0.12, 0.08)
"""Chance that a thread has its topic's second, third, fourth and fifth word."""

PLACE, COMMON, RARE = 0.25, 0.3, 0.12
"""Chance of a place name, of a word that goes with every topic, of a word of one's own."""

COMMON_WORDS = 200


def small(rng: np.random.Generator, *, realistic: bool, repeated: bool) -> Records:
    """Between 8 and 14 records: noise, or variations on two or three topics."""
    n, m = int(rng.integers(8, 15)), int(rng.integers(4, 12))
    if realistic:
        topics = np.zeros((rng.integers(2, 4), m), np.bool_)
        for topic in topics:
            topic[rng.choice(m, rng.integers(1, 5), replace=False)] = True
        held = topics[rng.integers(len(topics), size=n)] ^ (rng.random((n, m)) < NOISE)
    else:
        held = rng.random((n, m)) < rng.uniform(0.15, 0.5)
    # Records are non-empty in the paper; an empty one would be withdrawn at no cost.
    held[np.arange(n), rng.integers(m, size=n)] |= ~held.any(axis=1)
    users = rng.integers(0, max(6, n - 3), n) if repeated else np.arange(n)
    return Records.from_sets([np.flatnonzero(row).tolist() for row in held], users.tolist())


def threads(n: int, seed: int = 0) -> Records:
    """Threads of a query log, 2.6 keywords each: topics by Zipf, refinements, places, rare names.

    Topics and places grow with the square root of n, as vocabularies do. A user has two threads.
    """
    rng = np.random.default_rng(seed)
    topics, places = int(30 * np.sqrt(n)), int(4 * np.sqrt(n))
    topic = _zipf(rng, topics, n, 0.9)
    words = len(REFINED) + 1
    rows, columns = [np.arange(n)], [topic * words]
    for word, chance in enumerate(REFINED, start=1):
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
