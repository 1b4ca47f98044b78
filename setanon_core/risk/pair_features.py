"""Features of pairs of published threads: shared keywords, topics, style and shape.

Paper:      none.
Guarantee:  none; heuristic. Features use published columns only, except the interests of users
            whose threads are known.
Complexity: O(W) for W words, times `TOPICS` for the topics; O(words of both threads) per pair.
Deviation:  none.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of
from setanon_core.columns.sets import Sets
from setanon_core.risk.associations import Associations
from setanon_core.risk.thread_columns import PublishedThreads, QueryWords
from setanon_core.risk.thread_habits import range_means, thread_habits

Floats = npt.NDArray[np.float64]

TOPICS: Final = 32
"""Dimensions of a topic vector."""

POWER_ITERATIONS: Final = 4
"""Iterations of the decomposition that yields the topic vectors."""

CONTENT: Final = 9
"""Number of features that compare contents; the others compare style and shape."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairFeatures:
    """The columns from which features of any pair are computed."""

    keywords: sparse.csr_matrix
    """Threads by keywords; values are inverse document frequencies."""

    queries: sparse.csr_matrix
    """Threads by distinct queries, with such values; no columns if only sets are published."""

    topics: Floats
    """Topic vector of each thread, of length 1: keywords that occur together in threads."""

    interests: Floats
    """Such vectors from keywords that occur together in threads of one known user."""

    associations: Associations
    """How much more often than expected known users have two keywords, in different threads."""

    habits: Floats
    """Style and shape of each thread, standardized."""

    @classmethod
    def of(
        cls, published: PublishedThreads, distinct: QueryWords, known: Ints, seed: int
    ) -> "PairFeatures":
        """Prepare the features; `known` are threads whose users the attacker knows."""
        keywords = weighted_matrix(published.keywords)
        n = len(published.keywords)
        lists = Sets.unchecked(items=published.queries.copy(), offsets=published.offsets.copy())
        queries = weighted_matrix(_distinct_values(lists))
        users = published.known_users[known]
        members = sparse.csr_matrix(
            (np.ones(len(known)), (users, known)), shape=(int(users.max(initial=0)) + 1, n)
        )
        rng = np.random.default_rng(seed)
        return cls(
            keywords,
            queries,
            _topic_vectors(keywords, keywords, rng),
            _topic_vectors((members @ keywords).tocsr(), keywords, rng),
            Associations.of(members, keywords),
            _standardize(thread_habits(published, distinct)),
        )

    def of_pairs(self, left: Ints, right: Ints) -> Floats:
        """One row of features per pair of threads."""
        one, other = self.keywords[left], self.keywords[right]
        shared = one.minimum(other)
        shared_sum = _row_sums(shared)
        total = _row_sums(one) + _row_sums(other) - shared_sum
        shared_queries = _row_sums(self.queries[left].minimum(self.queries[right]))
        product = self.habits[left] * self.habits[right]
        distance = np.abs(self.habits[left] - self.habits[right])
        content = (
            shared_sum,
            np.log1p(shared_sum),
            np.asarray(shared.max(axis=1).todense()).ravel() if shared.shape[1] else shared_sum,
            shared_sum / np.maximum(total, 1e-9),
            (shared_sum >= total - 1e-9) & (total > 0),
            np.log1p(shared_queries),
            (self.topics[left] * self.topics[right]).sum(axis=1),
            (self.interests[left] * self.interests[right]).sum(axis=1),
            self._association(left, right),
        )
        return np.column_stack((*content, -distance, product))

    def _association(self, left: Ints, right: Ints) -> Floats:
        """Mean association of a keyword of one thread and a keyword of the other."""
        begins = self.keywords.indptr[:-1].astype(np.int64)
        words = self.keywords.indices.astype(np.int64)
        sizes = np.diff(self.keywords.indptr).astype(np.int64)
        one = concat_ranges(begins[left], sizes[left])
        per_word = np.repeat(sizes[right], sizes[left])
        other = concat_ranges(np.repeat(begins[right], sizes[left]), per_word)
        strengths = self.associations.of_pairs(np.repeat(words[one], per_word), words[other])
        return range_means(strengths, offsets_of(sizes[left] * sizes[right]))


def unsupervised_scores(features: Floats) -> Floats:
    """Scores with fixed weights: mostly contents, then style and shape, no known user."""
    habits = (features.shape[1] - CONTENT) // 2
    weights = np.zeros(features.shape[1])
    # Shared keywords, their share, equal queries, and topics.
    weights[[0, 3, 5, 6]] = 0.3, 2, 1, 2
    weights[CONTENT : CONTENT + habits] = 1 / max(habits, 1)
    scores: Floats = features @ weights
    return scores


def weighted_matrix(sets: Sets) -> sparse.csr_matrix:
    """Sets by items; values are log(number of sets / sets with the item), plus 1/100."""
    frequency = np.bincount(sets.items, minlength=1)
    # A shared item is evidence even if all sets have it.
    weight = np.log(max(len(sets), 1) / np.maximum(frequency, 1)) + 0.01
    return sparse.csr_matrix(
        (weight[sets.items], sets.items, sets.offsets), shape=(len(sets), sets.width)
    )


def _standardize(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    standardized: Floats = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return standardized


def _topic_vectors(
    together: sparse.csr_matrix, threads: sparse.csr_matrix, rng: np.random.Generator
) -> Floats:
    """Threads in the leading right singular vectors of `together`, scaled to length 1."""
    basis = rng.standard_normal((together.shape[1], min(TOPICS, *together.shape)))
    for _ in range(POWER_ITERATIONS):
        basis, _ = np.linalg.qr(together.T @ (together @ basis))
    vectors = threads @ basis
    length = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    scaled: Floats = vectors / np.where(length > 0, length, 1)
    return scaled


def _distinct_values(lists: Sets) -> Sets:
    """The distinct values of each list, ascending."""
    order = np.lexsort((lists.items, lists.rows))
    rows, values = lists.rows[order], lists.items[order]
    new = (np.diff(rows, prepend=-1) > 0) | (np.diff(values, prepend=-1) != 0)
    return Sets(values[new], offsets_of(np.bincount(rows[new], minlength=len(lists))))


def _row_sums(matrix: sparse.csr_matrix) -> Floats:
    return np.asarray(matrix.sum(axis=1), np.float64).ravel()
