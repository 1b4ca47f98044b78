"""Write the centers back into the queries of the threads.

Paper:      section 5.4: every occurrence of a deleted keyword leaves the thread's queries, an
            added one goes into one of them; section 5.5 asks for the right query and place.
Guarantee:  afterwards the items of a published thread's queries are its center's, exactly.
Complexity: O(W log W) for W words, then O(words of the thread) for each addition.
Deviation:  an added keyword goes where the other threads of its group have it, next to the same
            neighbours; a query left empty disappears; a thread left without queries gets one new
            query of what was added.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.errors import NotAnonymousError
from setanon_core.model import WITHDRAWN
from setanon_core.sets import Ints, Sets, bounds_of, distinct_numbers, rows_of, spans

EDGE: Final = -1
"""The neighbour of the first and the last word of a query."""

FEW: Final = 4
"""Words up to which a list is searched for each of them."""

Contexts = dict[int, Counter[tuple[int, int]]]
"""For an item, how often it stands between which two neighbours."""


@dataclass(frozen=True, slots=True, eq=False)
class Queries:
    """Queries of threads as columns: `words` are item numbers in the order typed.

    Query q has `words[offsets[q]:offsets[q + 1]]` and belongs to `threads[q]`. The queries of a
    thread stand in the order in which they were typed.
    """

    words: Ints
    offsets: Ints
    threads: Ints

    @property
    def rows(self) -> Ints:
        """The query of each word."""
        return rows_of(self.offsets, len(self.words))

    def take(self, positions: Ints) -> "Queries":
        """The queries at `positions`, in that order."""
        sizes = np.diff(self.offsets)[positions]
        words = self.words[spans(self.offsets[:-1][positions], sizes)]
        return Queries(words, bounds_of(sizes), self.threads[positions])

    def lists(self) -> Iterator[tuple[int, list[int]]]:
        """The thread and the words of every query."""
        words, bounds = self.words.tolist(), self.offsets.tolist()
        for thread, low, high in zip(self.threads.tolist(), bounds[:-1], bounds[1:], strict=True):
            yield thread, words[low:high]


def edit(queries: Queries, labels: Ints, centers: Sets) -> Queries:
    """Delete and add words until every published thread holds its center, and nothing else.

    `labels` has the row of its center for each thread, or `WITHDRAWN`.
    """
    published = np.flatnonzero(labels != WITHDRAWN)
    wanted = centers.take(labels[published])
    width = max(int(queries.words.max(initial=0)) + 1, centers.width)
    want = np.sort(published[wanted.rows] * width + wanted.items)
    kept = _only(queries, np.isin(_cells(queries, width), want))
    lacking = want[~np.isin(want, _cells(kept, width))]
    if len(lacking):
        missing: dict[int, list[int]] = defaultdict(list)
        for cell in lacking.tolist():
            missing[cell // width].append(cell % width)
        kept = _with_added(kept, labels, missing)
    if not np.array_equal(distinct_numbers(_cells(kept, width)), want):
        raise NotAnonymousError(
            "the words of every published thread must be its center's; those of "
            f"{len(published)} threads are not. Nothing was returned. This is a fault of setanon."
        )
    return kept


def _cells(queries: Queries, width: int) -> Ints:
    """Every word with its thread, as one number."""
    return queries.threads[queries.rows] * width + queries.words


def _only(queries: Queries, keep: npt.NDArray[np.bool_]) -> Queries:
    """The queries without the other words; a query left empty disappears."""
    sizes = np.bincount(queries.rows[keep], minlength=len(queries.threads))
    filled = sizes > 0
    return Queries(queries.words[keep], bounds_of(sizes[filled]), queries.threads[filled])


def _with_added(queries: Queries, labels: Ints, missing: dict[int, list[int]]) -> Queries:
    """Rewrite the threads that lack something; all others stay as they are."""
    lacking = np.fromiter(missing, np.int64, len(missing))
    contexts: dict[int, Contexts] = {
        label: defaultdict(Counter) for label in np.unique(labels[lacking]).tolist()
    }
    alike = np.isin(labels[queries.threads], labels[lacking])
    rewritten: dict[int, list[list[int]]] = {thread: [] for thread in missing}
    for thread, query in queries.take(np.flatnonzero(alike)).lists():
        _note(query, contexts[int(labels[thread])])
        if thread in rewritten:
            rewritten[thread].append(query)
    for thread, items in missing.items():
        for item in items:
            _insert(rewritten[thread], item, contexts[int(labels[thread])][item])
    new = [(thread, query) for thread, own in rewritten.items() for query in own]
    same = queries.take(np.flatnonzero(~np.isin(queries.threads, lacking)))
    both = Queries(
        np.append(same.words, [word for _, query in new for word in query]),
        bounds_of(np.append(np.diff(same.offsets), [len(query) for _, query in new])),
        np.append(same.threads, [thread for thread, _ in new]),
    )
    return both.take(np.argsort(both.threads, kind="stable"))


def _note(query: list[int], contexts: Contexts) -> None:
    """Count the neighbours of every word."""
    padded = [EDGE, *query, EDGE]
    for left, word, right in zip(padded, padded[1:], padded[2:], strict=False):
        contexts[word][left, right] += 1


def _insert(thread: list[list[int]], item: int, seen: Counter[tuple[int, int]]) -> None:
    """Put the item into the query and place whose neighbours it has most often elsewhere."""
    if not thread:
        thread.append([])
    lefts: Counter[int] = Counter()
    rights: Counter[int] = Counter()
    for (left, right), times in seen.items():
        lefts[left] += times
        rights[right] += times

    def score(place: tuple[int, int]) -> tuple[int, int, int, int, int]:
        q, at = place
        left = thread[q][at - 1] if at else EDGE
        right = thread[q][at] if at < len(thread[q]) else EDGE
        real = (lefts[left] if left != EDGE else 0) + (rights[right] if right != EDGE else 0)
        edges = (lefts[left] if left == EDGE else 0) + (rights[right] if right == EDGE else 0)
        # Both neighbours, then either, then the edge of a query; then the first place there is.
        return seen[left, right], real, edges, -q, -at

    # Any other place scores nothing, and the first place of all is an edge.
    places = {(q, at) for q, query in enumerate(thread) for at in (0, len(query))}
    for q, query in enumerate(thread):
        places.update((q, at + 1) for at in _found(query, lefts))
        places.update((q, at) for at in _found(query, rights))
    q, at = max(places, key=score)
    thread[q].insert(at, item)


def _found(query: list[int], words: Counter[int]) -> Iterator[int]:
    """Where any of the words stands; few words are looked for one by one, which is quick."""
    if len(words) > FEW:
        yield from (at for at, word in enumerate(query) if word in words)
        return
    for word in words:
        at = -1
        for _ in range(query.count(word)):
            at = query.index(word, at + 1)
            yield at
