"""Partial knowledge: an attacker knows some items or queries of a person and looks for the rest.

Knowledge of one thread: up to 1, 2, 4, 8 random or rarest keywords, one query, all keywords, or all
queries in order. Knowledge of a person: up to 1, 2, 4, 8 keywords of all of the person's threads;
then the attacker is assumed to have linked all published threads of each user, which is an upper
bound. A person is singled out if all candidates belong to one user.

Candidates of keywords or one query are the threads (or users) that have all of them. Candidates of
all keywords are the nearest threads, by the number of keywords that differ; candidates of all
queries too, by the keywords that differ at the same position of the list, then by the queries. So
edits do not hide a thread.

Paper:      none.
Guarantee:  exact for the sampled persons; deterministic for a seed.
Complexity: that of `SupersetIndex`, and for the nearest threads O(threads with a common keyword)
            per person.
Deviation:  none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    first_positions,
    offsets_of,
    sorted_unique,
)
from setanon_core.columns.sets import Sets
from setanon_core.columns.supersets import SupersetIndex
from setanon_core.columns.users import count_users
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.knowledge_outcomes import KnowledgeOutcome, PartialKnowledge, Scope
from setanon_core.risk.nearest_sets import nearest_sets
from setanon_core.risk.thread_columns import QueryWords, TypedThreads

KNOWN: Final = (1, 2, 4, 8)
"""Numbers of known keywords."""

PERSONS: Final = 1000
"""Persons sampled by default."""

KEYWORD_WEIGHT: Final = 1 << 20
"""Weight of a keyword at a position, in multiples of the weight of an equal query."""


def partial_knowledge(
    data: AttackData, *, persons: int = PERSONS, seed: int = 0, known: tuple[int, ...] = KNOWN
) -> PartialKnowledge:
    """Single out sampled persons by each kind of knowledge; needs the users of the ledger.

    Persons are sampled among the users with a keyword, and one thread of each; equal seeds sample
    equal persons and knowledge for the raw log and all of its releases.
    """
    typed, published = data.typed, data.published
    rng = np.random.default_rng(seed)
    threads = _sample_threads(rng, typed, persons)
    people = typed.users[threads]
    n = int(typed.users.max(initial=-1)) + 1
    person_sets = _union_by(typed.users, typed.keywords, n).take(people)
    linked = SupersetIndex(_union_by(published.known_users, published.keywords, n))
    views = _Views.of(published.keywords, published.set_ranks(), published.known_users)
    index = SupersetIndex(views.sets)
    owners = np.bincount(_union_by(typed.users, typed.keywords, n).items, minlength=1)
    sets = typed.keywords.take(threads)
    outcomes = []
    for knowledge in ("random keywords", "rarest keywords"):
        scopes: tuple[tuple[Scope, Sets], ...] = ("thread", sets), ("person", person_sets)
        for scope, sought in scopes:
            key = rng.random(len(sought.items))
            if knowledge == "rarest keywords":
                key += owners[sought.items]
            for amount in known:
                some = _lowest(sought, key, amount)
                if scope == "thread":
                    pairs = views.users_of(*index.find_all(some))
                else:
                    pairs = linked.find_all(some)
                outcomes.append(_outcome((knowledge, scope, amount), pairs, people, data.k))
    queries = _one_query(rng, typed, threads)
    pairs = _threads_with_query(data, views, index, queries)
    outcomes.append(_outcome(("one query", "thread", None), pairs, people, data.k))
    pairs = views.users_of(*nearest_sets(views.sets, sets))
    outcomes.append(_outcome(("all keywords", "thread", None), pairs, people, data.k))
    if published.has_lists:
        typed_lists, published_lists, weights = _lists_as_sets(data)
        views = _Views.of(published_lists, published.list_ranks(), published.known_users)
        pairs = views.users_of(*nearest_sets(views.sets, typed_lists.take(threads), weights))
        outcomes.append(_outcome(("all queries", "thread", None), pairs, people, data.k))
    return PartialKnowledge(data.k, tuple(outcomes))


@dataclass(frozen=True, slots=True, eq=False)
class _Views:
    """Distinct views of published threads, and the users of each."""

    sets: Sets
    users: Ints
    offsets: Ints

    @classmethod
    def of(cls, sets: Sets, ranks: Ints, users: Ints) -> "_Views":
        """Views by number; threads with one number have equal sets."""
        distinct = sets.take(first_positions(ranks))
        width = int(users.max(initial=0)) + 1
        pairs = sorted_unique(ranks * width + users)
        return cls(distinct, pairs % width, offsets_of(np.bincount(pairs // width)))

    def users_of(self, rows: Ints, views: Ints) -> tuple[Ints, Ints]:
        """Pairs of row and candidate user, for pairs of row and view."""
        sizes = np.diff(self.offsets)[views]
        return np.repeat(rows, sizes), self.users[concat_ranges(self.offsets[:-1][views], sizes)]


def _outcome(
    what: tuple[str, Scope, int | None], pairs: tuple[Ints, Ints], people: Ints, k: int
) -> KnowledgeOutcome:
    rows, users = pairs
    counts = count_users(rows, users, len(people))
    matches = np.zeros(len(people), np.bool_)
    matches[rows[users == people[rows]]] = True
    single = counts == 1
    return KnowledgeOutcome(
        *what,
        persons=len(people),
        correct=int((single & matches).sum()),
        wrong=int((single & ~matches).sum()),
        below_k=int(((counts > 1) & (counts < k)).sum()),
        at_least_k=int(((counts > 1) & (counts >= k)).sum()),
        none=int((counts == 0).sum()),
    )


def _sample_threads(rng: np.random.Generator, typed: TypedThreads, persons: int) -> Ints:
    """One thread with keywords of each sampled person."""
    threads = np.flatnonzero(typed.keywords.sizes)
    threads = threads[rng.permutation(len(threads))]
    _, first = np.unique(typed.users[threads], return_index=True)
    chosen = threads[first]
    return np.sort(rng.permutation(chosen)[:persons])


def _union_by(groups: Ints, sets: Sets, n: int) -> Sets:
    """The union of the sets of each group 0, ..., n - 1."""
    width = max(sets.width, 1)
    cells = sorted_unique(groups[sets.rows] * width + sets.items)
    return Sets(cells % width, offsets_of(np.bincount(cells // width, minlength=n)))


def _lowest(sets: Sets, key: npt.NDArray[np.float64], amount: int) -> Sets:
    """The items with the lowest keys, at most `amount` of each set."""
    order = np.lexsort((key, sets.rows))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - sets.offsets[:-1][sets.rows]
    return sets.filter_occurrences(rank < amount)


def _one_query(rng: np.random.Generator, typed: TypedThreads, threads: Ints) -> Ints:
    """A random query of each thread."""
    sizes = np.diff(typed.offsets)[threads]
    position = (rng.random(len(sizes)) * sizes).astype(np.int64)
    queries: Ints = typed.queries[typed.offsets[:-1][threads] + position]
    return queries


def _threads_with_query(
    data: AttackData, views: _Views, index: SupersetIndex, queries: Ints
) -> tuple[Ints, Ints]:
    """Pairs of row and candidate user: those with the exact query, or all of its keywords."""
    published, distinct = data.published, data.distinct
    if published.has_lists:
        lists = Sets.unchecked(items=published.queries, offsets=published.offsets)
        of_thread = _union_by(np.arange(len(published.keywords)), lists, len(published.keywords))
        sought = Sets(queries, np.arange(len(queries) + 1))
        rows, found = SupersetIndex(of_thread).find_all(sought)
        return rows, published.known_users[found]
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    by_row = Sets.unchecked(items=words, offsets=offsets_of(sizes))
    return views.users_of(*index.find_all(_union_by(np.arange(len(queries)), by_row, len(queries))))


def _lists_as_sets(data: AttackData) -> tuple[Sets, Sets, Ints]:
    """Typed and published threads as sets of what is at each position of their lists; weights.

    An item is a pair of a position and a keyword, or of a position and a query. Queries have a
    small weight: they decide, by the order and repetition of words, between equal distances.
    """
    typed, published = data.typed, data.published
    typed_cells, typed_sizes = _list_cells(data.distinct, typed.queries, typed.offsets)
    cells, sizes = _list_cells(data.distinct, published.queries, published.offsets)
    # Renumbered, because positions may be large.
    distinct, items = np.unique(np.concatenate((typed_cells, cells)), return_inverse=True)
    vocabulary = len(data.distinct.vocabulary)
    is_keyword = distinct % (vocabulary + len(data.distinct.offsets)) < vocabulary
    columns = ((items[: len(typed_cells)], typed_sizes), (items[len(typed_cells) :], sizes))
    of_typed, of_published = (
        _union_by(np.arange(len(n)), Sets.unchecked(items=each, offsets=offsets_of(n)), len(n))
        for each, n in columns
    )
    return of_typed, of_published, np.where(is_keyword, KEYWORD_WEIGHT, 1)


def _list_cells(distinct: QueryWords, queries: Ints, offsets: Ints) -> tuple[Ints, Ints]:
    """Pairs of position and keyword or query as numbers, by thread; and their count per thread."""
    width = len(distinct.vocabulary) + len(distinct.offsets)
    position = np.arange(len(queries)) - np.repeat(offsets[:-1], np.diff(offsets))
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    word_cells = np.repeat(position, sizes) * width + words
    query_cells = position * width + len(distinct.vocabulary) + queries
    # Each query's own cell is placed after its words.
    ends = np.cumsum(sizes)
    cells = np.insert(word_cells, ends, query_cells)
    return cells, np.diff(offsets_of(sizes + 1)[offsets])
