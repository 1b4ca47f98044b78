"""A synthetic query log with persistent interests: threads of one user can be recognized.

In the log of `demo/log`, the threads of a user are independent, so nobody can link them. Here each
person has a home, fields of topics, sites and words that recur in many threads, and habits: how
many words a query has, in which order, how often it names a place, how often it is repeated. Names
of people include the person's own.

Shape:      users, queries, times and vocabulary as in `demo/log`.
Guarantee:  equal arguments give equal rows on every machine; chunks as in `demo/log`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints
from setanon_dagster.demo.log import (
    NEW_THREAD,
    USERS,
    Columns,
    format_times,
    omit_words,
    queries_per_user,
    query_times,
    row_chunks,
    spell_texts,
)
from setanon_dagster.demo.words import (
    ABSENT,
    AT_SITE,
    CHANCES,
    HEAD,
    NAME,
    PER_TOPIC,
    SITE_FORMS,
    Floats,
    Vocabulary,
    draw_indices,
    invent_words,
)

FAVOURITES: Final = 2
"""Fields, sites and common words that a person prefers, of each kind."""

FIELD: Final = 8
"""Topics per field: who is interested in one of them searches for the others too.

Queries on one topic become one thread, so that a single topic would not recur in other threads.
"""

LOYALTY: Final = 0.85
"""Probability that a topic, site or common word is one of the person's favourites."""

AT_HOME: Final = 0.9
"""Probability that a place is the person's home."""

OWN_NAME: Final = 0.3
"""Probability that a name is the person's own."""

COMMON, NAME_COLUMN, PLACE = 0, 6, 7
"""Columns of a thread's words that are not of its topic."""

ORDERS: Final = np.array(
    [
        (0, 1, 2, 3, 4, 5, 6, 7),
        (7, 0, 1, 2, 3, 4, 5, 6),
        (1, 2, 3, 4, 5, 6, 7, 0),
        (7, 1, 2, 3, 4, 5, 6, 0),
    ]
)
"""Word orders, one per row: the place first or last, the common word first or last."""

LOCALITY: Final = np.array([0.5, 1.3, 2.6])
"""Factors on the probability of a place."""

DETAIL: Final = np.array([0.4, 1.0, 1.6])
"""Factors on the probability of words that refine a topic: short, usual and long queries."""

VARIATION: Final = np.array([0.15, 0.4, 0.7])
"""Probabilities that a later query of a thread has a new text, by habit."""

HABITS: Final = (len(SITE_FORMS), len(ORDERS), len(LOCALITY), len(DETAIL), len(VARIATION))
"""Number of choices of each habit, in the order of the columns of `People`."""


def interest_rows(
    users: int = USERS, queries: int | None = None, seed: int = 0
) -> Iterator[Columns]:
    """Yield the log in chunks, sorted by user and time; a user is in one chunk only.

    >>> users, times, queries = next(interest_rows(users=2, queries=5, seed=3))
    >>> len(users), set(users) == {"u0000001", "u0000002"}
    (5, True)
    """
    return row_chunks(users, queries, seed, _chunk)


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Interests and habits, one row per person; words are numbered as in the vocabulary."""

    home: Ints
    topics: Ints
    """A topic of each of the person's fields."""

    sites: Ints
    common: Ints
    name: Ints
    form: Ints
    """Form in which the person types sites."""

    order: Ints
    locality: Ints
    detail: Ints
    variation: Ints

    @classmethod
    def draw(cls, rng: np.random.Generator, n: int, vocabulary: Vocabulary) -> "People":
        """Draw n persons: interests by popularity, habits equally likely."""
        topics, sites, common = (
            draw_indices(rng, shares, n * FAVOURITES).reshape(n, FAVOURITES)
            for shares in (vocabulary.topics, vocabulary.sites, vocabulary.common)
        )
        return cls(
            draw_indices(rng, vocabulary.places, n),
            topics,
            sites,
            common,
            rng.integers(0, vocabulary.names, n),
            *(rng.integers(0, size, n) for size in HABITS),
        )


def _chunk(
    rng: np.random.Generator, names: list[str], rows: int, vocabulary: Vocabulary
) -> Columns:
    people = People.draw(rng, len(names), vocabulary)
    user = np.repeat(np.arange(len(names)), queries_per_user(rng, len(names), rows))
    starts = (np.diff(user, prepend=-1) > 0) | (rng.random(rows) < NEW_THREAD)
    new_text = starts | (rng.random(rows) < VARIATION[people.variation[user]])
    thread = np.cumsum(starts) - 1
    time = query_times(rng, thread, starts)
    table, invented = draw_threads(rng, people, user[starts], vocabulary)
    words = omit_words(rng, table[thread[new_text]])
    words = np.take_along_axis(words, ORDERS[people.order[user[new_text]]], axis=1)
    texts = spell_texts(rng, words, vocabulary.words + invented)
    order = np.argsort(user << 32 | time, kind="stable")
    text = (np.cumsum(new_text) - 1)[order]
    return (
        list(map(names.__getitem__, user.tolist())),
        format_times(time[order]),
        list(map(texts.__getitem__, text.tolist())),
    )


def draw_threads(
    rng: np.random.Generator, people: People, user: Ints, vocabulary: Vocabulary
) -> tuple[Ints, list[str]]:
    """Word numbers of threads, one row per thread; and names, numbered after the words.

    `user` has the person of each thread.
    """
    n = len(user)
    common = len(vocabulary.topics) * PER_TOPIC
    place = common + len(vocabulary.common)
    site = place + len(vocabulary.places)
    table = np.empty((n, len(CHANCES)), np.int64)
    table[:, COMMON] = common + _favourites(rng, people.common[user], vocabulary.common)
    field = _favourites(rng, people.topics[user], vocabulary.topics) // FIELD
    topic = np.minimum(field * FIELD + rng.integers(0, FIELD, n), len(vocabulary.topics) - 1)
    table[:, HEAD : HEAD + PER_TOPIC] = topic[:, None] * PER_TOPIC + np.arange(PER_TOPIC)
    table[:, NAME_COLUMN] = len(vocabulary.words) + np.arange(n)
    away = draw_indices(rng, vocabulary.places, n)
    table[:, PLACE] = place + np.where(rng.random(n) < AT_HOME, people.home[user], away)
    chances = np.tile(CHANCES, (n, 1))
    chances[:, HEAD + 1 : HEAD + PER_TOPIC] *= DETAIL[people.detail[user]][:, None]
    chances[:, PLACE] *= LOCALITY[people.locality[user]]
    table[rng.random(table.shape) >= chances] = ABSENT
    at_site = np.flatnonzero(rng.random(n) < AT_SITE)
    visited = _favourites(rng, people.sites[user[at_site]], vocabulary.sites)
    table[at_site] = ABSENT
    table[at_site, HEAD] = site + visited * len(SITE_FORMS) + people.form[user[at_site]]
    others = rng.integers(0, vocabulary.names, n)
    name = np.where(rng.random(n) < OWN_NAME, people.name[user], others)
    return table, invent_words(name, NAME)


def _favourites(rng: np.random.Generator, favourites: Ints, shares: Floats) -> Ints:
    """One of the person's favourites, or one drawn by popularity."""
    n = len(favourites)
    chosen = favourites[np.arange(n), rng.integers(0, FAVOURITES, n)]
    return np.where(rng.random(n) < LOYALTY, chosen, draw_indices(rng, shares, n))
