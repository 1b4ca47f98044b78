"""Partial knowledge: an attacker knows some items or queries of a person and looks for the rest.

Knowledge of one thread: up to 1, 2, 4, 8 random or rarest keywords, one query, all keywords, or all
queries in order. Knowledge of a person: up to 1, 2, 4, 8 keywords of all of the person's threads;
then the attacker is assumed to have linked all published threads of each user, which is an upper
bound. A person is singled out if all candidates belong to one user.

Candidates of keywords or one query are the threads (or users) that have all of them. Candidates of
all keywords or all queries are the nearest threads, by the number of keywords that differ at the
same position of the list, so that edits do not hide a thread.

Paper:      none.
Guarantee:  exact for the sampled persons; deterministic for a seed.
Complexity: that of `find_supersets`, and for the nearest threads O(threads with a common keyword)
            per person.
Deviation:  none.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setanon_core.columns.arrays import (
    Ints,
    concat_ranges,
    first_positions,
    offsets_of,
    sorted_unique,
)
from setanon_core.columns.sets import Sets
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.containment import count_users, find_supersets
from setanon_core.risk.thread_columns import PublishedThreads, TypedThreads

Scope = Literal["thread", "person"]

KNOWN: Final = (1, 2, 4, 8)
"""Numbers of known keywords."""

PERSONS: Final = 1000
"""Persons sampled by default."""

NEAREST_BATCH: Final = 64
"""Persons whose nearest threads are computed at once."""


@dataclass(frozen=True, slots=True)
class KnowledgeOutcome:
    """What one kind of knowledge achieves; each person is in one of the last five counts."""

    knowledge: str
    """"random keywords", "rarest keywords", "one query", "all keywords" or "all queries"."""

    scope: Scope
    """What is known about: one thread of the person, or all of them."""

    known: int | None
    """Maximum number of known keywords; None for queries and for all keywords."""

    persons: int
    correct: int
    """Persons singled out: the only candidate user is the person."""

    wrong: int
    """Persons for whom another user is the only candidate."""

    below_k: int
    """Persons with 2 to k - 1 candidate users."""

    at_least_k: int
    """Persons with at least k candidate users."""

    none: int
    """Persons without a candidate."""

    @property
    def correct_share(self) -> float:
        """Share of the persons singled out correctly; 0 without persons."""
        return self.correct / max(self.persons, 1)

    @property
    def singled_out(self) -> int:
        """Persons with one candidate user, correct or not."""
        return self.correct + self.wrong

    @property
    def sentence(self) -> str:
        """The share of persons found."""
        amount = "" if self.known is None else f"up to {self.known} "
        scope = "one thread" if self.scope == "thread" else "all threads"
        return (
            f"Knowing {amount}{self.knowledge} of {scope} singles out {self.correct} of "
            f"{self.persons} persons correctly ({self.correct_share:.1%}), {self.wrong} wrongly; "
            f"{self.at_least_k} have at least k candidates."
        )


@dataclass(frozen=True, slots=True)
class PartialKnowledge:
    """The result of `partial_knowledge`: one outcome per kind of knowledge."""

    k: int
    outcomes: tuple[KnowledgeOutcome, ...]

    def worst(self, scope: Scope = "thread") -> KnowledgeOutcome:
        """The outcome with most persons singled out correctly, for knowledge of this scope."""
        outcomes = [outcome for outcome in self.outcomes if outcome.scope == scope]
        return max(outcomes, key=lambda outcome: outcome.correct_share)

    @property
    def sentence(self) -> str:
        """The sentence of the worst outcome for knowledge of one thread."""
        return self.worst().sentence


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
    linked = _union_by(published.known_users, published.keywords, n)
    views = _Views.of_sets(published)
    owners = np.bincount(_union_by(typed.users, typed.keywords, n).items, minlength=1)
    sets = typed.keywords.take(threads)
    outcomes = []
    for knowledge in ("random keywords", "rarest keywords"):
        for scope, sought in (("thread", sets), ("person", person_sets)):
            key = rng.random(len(sought.items))
            if knowledge == "rarest keywords":
                key += owners[sought.items]
            for amount in known:
                some = _lowest(sought, key, amount)
                if scope == "thread":
                    pairs = views.users_of(*_supersets(views.sets, some))
                else:
                    pairs = _supersets(linked, some)
                outcomes.append(
                    _outcome((knowledge, scope, amount), pairs, people, data.k)  # type: ignore[arg-type]
                )
    queries = _one_query(rng, typed, threads)
    pairs = _threads_with_query(data, views, queries)
    outcomes.append(_outcome(("one query", "thread", None), pairs, people, data.k))
    whole = [("all keywords", _Views.of_sets(published), sets)]
    if published.has_lists:
        positions = _positioned(data, typed.queries, typed.offsets).take(threads)
        whole.append(("all queries", _Views.of_lists(data), positions))
    for knowledge, of_what, known_sets in whole:
        pairs = of_what.users_of(*nearest_sets(of_what.sets, known_sets))
        outcomes.append(_outcome((knowledge, "thread", None), pairs, people, data.k))
    return PartialKnowledge(data.k, tuple(outcomes))


@dataclass(frozen=True, slots=True, eq=False)
class _Views:
    """Distinct views of published threads, and the users of each."""

    sets: Sets
    users: Ints
    offsets: Ints

    @classmethod
    def of_sets(cls, published: PublishedThreads) -> "_Views":
        return cls._of(published.keywords, published.set_ranks(), published.known_users)

    @classmethod
    def of_lists(cls, data: AttackData) -> "_Views":
        published = data.published
        positioned = _positioned(data, published.queries, published.offsets)
        return cls._of(positioned, published.list_ranks(), published.known_users)

    @classmethod
    def _of(cls, sets: Sets, ranks: Ints, users: Ints) -> "_Views":
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


def nearest_sets(sets: Sets, sought: Sets) -> tuple[Ints, Ints]:
    """All pairs (position in `sought`, position in `sets`) at the least distance of the sought set.

    The distance is the number of items that one of both has; sets without a common item are no
    candidates.

    >>> sets = Sets(np.array([1, 2, 1, 3]), np.array([0, 2, 4]))
    >>> [pairs.tolist() for pairs in nearest_sets(sets, Sets(np.array([1, 3]), np.array([0, 2])))]
    [[0], [1]]
    """
    width = max(sets.width, sought.width, 1)
    holders = _matrix(sets, width).T.tocsr()
    wanted = _matrix(sought, width)
    rows, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for low in range(0, len(sought), NEAREST_BATCH):
        common = (wanted[low : low + NEAREST_BATCH] @ holders).tocoo()
        row, column = common.row.astype(np.int64), common.col.astype(np.int64)
        distance = sought.sizes[low + row] + sets.sizes[column] - 2 * common.data
        least = np.full(NEAREST_BATCH, np.iinfo(np.int64).max)
        np.minimum.at(least, row, distance)
        nearest = distance == least[row]
        rows.append(low + row[nearest])
        found.append(column[nearest])
    return np.concatenate(rows), np.concatenate(found)


def _matrix(sets: Sets, width: int) -> sparse.csr_matrix:
    ones = np.ones(len(sets.items), np.int64)
    return sparse.csr_matrix((ones, sets.items, sets.offsets), shape=(len(sets), width))


def _supersets(sets: Sets, sought: Sets) -> tuple[Ints, Ints]:
    batches = list(find_supersets(sets, sought))
    empty = np.empty(0, np.int64)
    rows = np.concatenate([empty, *(rows for rows, _ in batches)])
    return rows, np.concatenate([empty, *(found for _, found in batches)])


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


def _threads_with_query(data: AttackData, views: _Views, queries: Ints) -> tuple[Ints, Ints]:
    """Pairs of row and candidate user: those with the exact query, or all of its keywords."""
    published, distinct = data.published, data.distinct
    if published.has_lists:
        lists = Sets.unchecked(items=published.queries, offsets=published.offsets)
        of_thread = _union_by(np.arange(len(published.keywords)), lists, len(published.keywords))
        rows, found = _supersets(of_thread, Sets(queries, np.arange(len(queries) + 1)))
        return rows, published.known_users[found]
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    by_row = Sets.unchecked(items=words, offsets=offsets_of(sizes))
    return views.users_of(
        *_supersets(views.sets, _union_by(np.arange(len(queries)), by_row, len(queries)))
    )


def _positioned(data: AttackData, queries: Ints, offsets: Ints) -> Sets:
    """Each thread as the set of its pairs of position in the list and keyword."""
    distinct = data.distinct
    width = max(len(distinct.vocabulary), 1)
    position = np.arange(len(queries)) - np.repeat(offsets[:-1], np.diff(offsets))
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    cells = np.repeat(position, sizes) * width + words
    per_thread = offsets_of(sizes)[offsets]
    return _union_by(
        np.arange(len(offsets) - 1),
        Sets.unchecked(items=cells, offsets=per_thread),
        len(offsets) - 1,
    )
