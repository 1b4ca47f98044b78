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
from typing import Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, offsets_of, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.errors import NotAnonymousError
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Queries

EDGE: Final = -1
"""The neighbour of the first and the last word of a query."""

FEW: Final = 4
"""Words up to which a list is searched for each of them."""


class Context:
    """How often an item of a center stands between which two neighbours, and next to which."""

    def __init__(self) -> None:
        """Begin with no neighbours."""
        self.both: Counter[tuple[int, int]] = Counter()
        self.lefts: Counter[int] = Counter()
        self.rights: Counter[int] = Counter()

    def add(self, left: int, right: int, times: int) -> None:
        """Count what was seen so often."""
        self.both[left, right] += times
        self.lefts[left] += times
        self.rights[right] += times


def edit_queries(queries: Queries, labels: Ints, centers: Sets) -> Queries:
    """Delete and add words until every published thread holds its center, and nothing else.

    `labels` has the row of its center for each thread, or `WITHDRAWN`.
    """
    width = max(int(queries.words.max(initial=0)) + 1, centers.width)
    wanted = centers.rows * width + centers.items
    thread = queries.threads[queries.rows]
    at = _places(labels[thread] * width + queries.words, wanted)
    kept = _only(queries, at >= 0)
    thread, at = thread[at >= 0], at[at >= 0]
    lacking = _lacking(thread, at, labels, centers)
    if len(lacking):
        missing = _missing(thread, at, labels, centers, lacking)
        kept = _with_added(kept, at, missing, centers)
        _refuse_others(kept, labels, centers, lacking)
    return kept


def _places(cells: Ints, wanted: Ints) -> Ints:
    """Where each cell is among those wanted, which ascend; -1 if it is not."""
    at = np.searchsorted(wanted, cells)
    at[at == len(wanted)] = 0
    if len(wanted) == 0:
        return np.full(len(cells), -1)
    return np.where(wanted[at] == cells, at, -1)


def _only(queries: Queries, keep: npt.NDArray[np.bool_]) -> Queries:
    """The queries without the other words; a query left empty disappears."""
    sizes = np.bincount(queries.rows[keep], minlength=len(queries.threads))
    filled = sizes > 0
    return Queries(queries.words[keep], offsets_of(sizes[filled]), queries.threads[filled])


def _lacking(thread: Ints, at: Ints, labels: Ints, centers: Sets) -> Ints:
    """The published threads whose words, at these places of the centers, are not all of them."""
    n = max(len(centers.items), 1)
    held = np.bincount(sorted_unique(thread * n + at) // n, minlength=len(labels))
    published = np.flatnonzero(labels != WITHDRAWN)
    return published[held[published] < centers.sizes[labels[published]]]


def _missing(
    thread: Ints, at: Ints, labels: Ints, centers: Sets, lacking: Ints
) -> dict[int, list[int]]:
    """For each thread that lacks something, where that is among the items of all centers."""
    some = np.isin(thread, lacking)
    there = set(zip(thread[some].tolist(), at[some].tolist(), strict=True))
    rows = labels[lacking]
    missing: dict[int, list[int]] = {}
    starts, stops = centers.offsets[rows].tolist(), centers.offsets[rows + 1].tolist()
    for own, start, stop in zip(lacking.tolist(), starts, stops, strict=True):
        missing[own] = [place for place in range(start, stop) if (own, place) not in there]
    return missing


def _with_added(
    queries: Queries, at: Ints, missing: dict[int, list[int]], centers: Sets
) -> Queries:
    """Rewrite the threads that lack something; all others stay as they are."""
    seen = _contexts(queries, at, np.unique([place for own in missing.values() for place in own]))
    inside = np.isin(queries.threads, np.fromiter(missing, np.int64, len(missing)))
    rewritten: dict[int, list[list[int]]] = {thread: [] for thread in missing}
    for thread, query in queries.take(np.flatnonzero(inside)).lists():
        rewritten[thread].append(query)
    for thread, places in missing.items():
        for place in places:
            _insert(rewritten[thread], int(centers.items[place]), seen[place])
    new = [(thread, query) for thread, own in rewritten.items() for query in own]
    same = queries.take(np.flatnonzero(~inside))
    both = Queries(
        np.append(same.words, [word for _, query in new for word in query]),
        offsets_of(np.append(np.diff(same.offsets), [len(query) for _, query in new])),
        np.append(same.threads, [thread for thread, _ in new]),
    )
    return both.take(np.argsort(both.threads, kind="stable"))


def _contexts(queries: Queries, at: Ints, places: Ints) -> dict[int, Context]:
    """Between which neighbours the items at these places of the centers stand, and how often."""
    seen: defaultdict[int, Context] = defaultdict(Context)
    row = queries.rows
    left = np.where(np.diff(row, prepend=-1) == 0, np.roll(queries.words, 1), EDGE)
    right = np.where(np.diff(row, append=-1) == 0, np.roll(queries.words, -1), EDGE)
    some = np.flatnonzero(np.isin(at, places))
    columns = (column[some].tolist() for column in (at, left, right))
    for (place, before, after), times in Counter(zip(*columns, strict=True)).items():
        seen[place].add(before, after, times)
    return seen


def _refuse_others(queries: Queries, labels: Ints, centers: Sets, lacking: Ints) -> None:
    """Look again at what was rewritten; the words of all others were just counted."""
    mine = queries.take(np.flatnonzero(np.isin(queries.threads, lacking)))
    width = max(int(mine.words.max(initial=0)) + 1, centers.width)
    thread = mine.threads[mine.rows]
    at = _places(labels[thread] * width + mine.words, centers.rows * width + centers.items)
    wrong = len(np.intersect1d(_lacking(thread[at >= 0], at[at >= 0], labels, centers), lacking))
    wrong += int((at < 0).sum())
    if wrong:
        raise NotAnonymousError(
            f"the words of every published thread must be its center's; {wrong} are not, or are "
            "lacking. Nothing was returned. This is a fault of setanon."
        )


def _insert(thread: list[list[int]], item: int, seen: Context) -> None:
    """Put the item into the query and place whose neighbours it has most often elsewhere."""
    if not thread:
        thread.append([])
    both, lefts, rights = seen.both, seen.lefts, seen.rights

    def score(place: tuple[int, int]) -> tuple[int, int, int, int, int]:
        q, at = place
        left = thread[q][at - 1] if at else EDGE
        right = thread[q][at] if at < len(thread[q]) else EDGE
        before, after = lefts.get(left, 0), rights.get(right, 0)
        real = (before if left != EDGE else 0) + (after if right != EDGE else 0)
        # Both neighbours, then either, then the edge of a query; then the first place there is.
        return both.get((left, right), 0), real, before + after - real, -q, -at

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
