"""Small attack data, written as lists, and random ones."""

import random

from setanon_core.model.publication import Ledger, QueryRelease, SetRelease
from setanon_core.risk.attack_data import AttackData, TypedRows


def random_threads(seed, users=4, words="abcd"):
    """Typed threads as (user, queries), and published ones as (typed thread, queries).

    Some threads are withdrawn; others are published as typed, or as any other list.
    """
    rng = random.Random(seed)  # noqa: S311 - example data

    def queries():
        return [" ".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 3))]

    typed = [(rng.randrange(users), queries()) for _ in range(rng.randint(1, 8))]
    sources = rng.sample(range(len(typed)), rng.randint(0, len(typed)))
    published = [
        (source, typed[source][1] if rng.random() < 0.5 else queries()) for source in sources
    ]
    return typed, published


EXAMPLES = [random_threads(seed, words="abcd"[: 1 + seed % 4]) for seed in range(60)]
"""Small examples: equal sets, equal lists and users with several threads are common."""


def attack_data(typed, published=None, k=2, *, sets=False, ledger=True):
    """`AttackData` of such threads; without `published`, all threads are published as typed."""
    if published is None:
        published = [(source, queries) for source, (_, queries) in enumerate(typed)]
    rows = [
        (number, user, query) for number, (user, queries) in enumerate(typed) for query in queries
    ]
    ids = [f"{number:032x}" for number in range(len(published))]
    return AttackData.from_columns(
        TypedRows(*([row[column] for row in rows] for column in range(3))),
        _set_release(ids, published) if sets else _query_release(ids, published),
        Ledger(
            tuple(ids),
            tuple(source for source, _ in published),
            tuple(typed[source][0] for source, _ in published),
        )
        if ledger
        else None,
        k,
    )


def words_of(queries):
    """The set of the words of a list of queries."""
    return frozenset(word for query in queries for word in query.split())


def _set_release(ids, published):
    return SetRelease(tuple(ids), tuple(tuple(sorted(words_of(each))) for _, each in published))


def _query_release(ids, published):
    rows = [
        (thread_id, position, query)
        for thread_id, (_, queries) in zip(ids, published, strict=True)
        for position, query in enumerate(queries)
    ]
    return QueryRelease(*(tuple(row[column] for row in rows) for column in range(3)))
