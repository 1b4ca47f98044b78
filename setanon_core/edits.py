"""Edit the queries of published threads so that their words are the items of their centers.

Paper:      section 5.4: every occurrence of a deleted keyword is removed from the thread's
            queries, an added keyword is inserted into one of them; section 5.5 suggests
            to choose the right query and position.
Guarantee:  after the edits, the items of a published thread's queries are exactly its center. The
            result does not depend on how the log is split into batches.
Complexity: O(W log W) for W words, then O(words of the thread) for each addition. Memory for
            `BATCH_WORDS` words in addition to the result.
Deviation:  an added keyword is inserted where the other threads of its group have it, between the
            same neighbours; a query without words is dropped; a thread without queries gets one
            new query with the added keywords.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from operator import add
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, run_starts, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.errors import NotAnonymousError
from setanon_core.keywords.spelling import common_spellings, restore_typed_words
from setanon_core.keywords.stored_queries import StoredQueries
from setanon_core.lists.share import share_lists
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Keywords, Queries, concat_queries
from setanon_core.runtime.executor import map_ordered
from setanon_core.runtime.progress import report_progress

BATCH_WORDS: Final = 1 << 20
"""Words edited at once, or those of one group if it has more: bounds the memory."""

EDGE: Final = -1
"""The neighbour before the first word and after the last word of a query."""

LINEAR_SEARCH: Final = 4
"""Up to this many distinct words, a query is searched for each of them separately."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EditTargets:
    """The center of each thread, and how the items of the centers are spelled."""

    labels: Ints
    """For each thread the row of its center, or `WITHDRAWN`."""

    centers: Sets
    owners: int
    """Minimum number of users who typed a published keyword."""

    as_typed: bool
    """Whether each thread keeps its own spelling of an item."""

    users: Ints
    """The user of each thread."""

    sharing_users: int | None
    """Minimum number of users who share every list of queries; None: each thread keeps its own."""


class EditCounts(NamedTuple):
    """What was edited; the counts of several batches add up."""

    respellings: int = 0
    """Words of threads that are published in another spelling."""

    rows: int = 0
    """Queries after the edits, before lists are shared: the rows of the format `edited`."""

    true_rows: int = 0
    """Published queries that their own threads have after the edits."""

    def plus(self, other: "EditCounts") -> "EditCounts":
        """The sum of both counts."""
        return EditCounts(*map(add, self, other))


class EditedQueries(NamedTuple):
    """The queries to publish of some groups, and counts of what was edited."""

    queries: Queries
    counts: EditCounts


def edit_in_batches(typed: Queries, keywords: Keywords, targets: EditTargets) -> EditedQueries:
    """The queries to publish of all groups, edited batch by batch."""
    edited = list(edit_batches(typed, keywords, targets))
    counts = EditCounts()
    for batch in edited:
        counts = counts.plus(batch.counts)
    return EditedQueries(concat_queries([batch.queries for batch in edited]), counts)


def edit_batches(
    typed: Queries | StoredQueries, keywords: Keywords, targets: EditTargets
) -> Iterator[EditedQueries]:
    """The queries to publish, batch by batch; each batch has complete groups."""
    # Batches may be sent to other processes, which do not need the texts.
    keywords = replace(keywords, vocabulary=())
    if isinstance(typed, StoredQueries):
        queries, total = typed.batches(targets.labels, BATCH_WORDS), typed.n_words
    else:
        queries = (typed.take(rows) for rows in _batch_rows(typed, targets.labels))
        total = len(typed.words)
    batches = (_batch(each, keywords, targets) for each in queries)
    # Here, not in the generator, which another thread may read: the executor is that of the caller.
    return _with_progress(map_ordered(_edit_batch, batches), total)


def _with_progress(batches: Iterable[EditedQueries], total: int) -> Iterator[EditedQueries]:
    done = 0
    for edited in batches:
        done += len(edited.queries.words)
        report_progress("words edited", done, total)
        yield edited


def edit_queries(queries: Queries, labels: Ints, centers: Sets) -> Queries:
    """Delete and add words until the words of every published thread are its center.

    `labels` has for each thread the row of its center, or `WITHDRAWN`.
    """
    width = max(int(queries.words.max(initial=0)) + 1, centers.width)
    # A cell is a pair (center, item) as one number.
    cells = centers.rows * width + centers.items
    thread = queries.threads[queries.rows]
    position = _positions(labels[thread] * width + queries.words, cells)
    in_center = position >= 0
    edited = _keep_words(queries, in_center)
    thread, position = thread[in_center], position[in_center]
    incomplete = _incomplete_threads(thread, position, labels, centers)
    if len(incomplete):
        missing = _missing_items(thread, position, labels, centers, incomplete)
        edited = _add_words(edited, position, missing, centers)
        _require_centers(edited, labels, centers, incomplete)
    return edited


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Batch:
    """All queries of some groups; threads and centers are renumbered from 0."""

    typed: Queries
    keywords: Keywords
    targets: EditTargets
    threads: Ints
    """The numbers of the threads in the log."""


def _batch_rows(typed: Queries, labels: Ints) -> Iterator[Ints]:
    """The positions of the queries of each batch; a group is never split."""
    # The queries of a thread are adjacent, so it is enough to sort the threads.
    begins = np.searchsorted(typed.threads, np.arange(len(labels) + 1))
    queries = np.diff(begins)
    order = np.argsort(labels, kind="stable")
    order = order[np.searchsorted(labels[order], 0) :]  # without withdrawn threads
    batch = np.cumsum(np.diff(typed.offsets[begins])[order]) // BATCH_WORDS
    first = np.flatnonzero(run_starts(labels[order]))
    starts = first[run_starts(batch[first])]
    for threads in np.split(order, starts):
        if len(threads):
            yield concat_ranges(begins[threads], queries[threads])


def _batch(queries: Queries, keywords: Keywords, targets: EditTargets) -> _Batch:
    threads, local = np.unique(queries.threads, return_inverse=True)
    groups, labels = np.unique(targets.labels[threads], return_inverse=True)
    renumbered = replace(
        targets,
        labels=labels,
        centers=targets.centers.take(groups),
        users=targets.users[threads],
    )
    return _Batch(replace(queries, threads=local), keywords, renumbered, threads)


def _edit_batch(batch: _Batch) -> EditedQueries:
    typed, keywords, targets = batch.typed, batch.keywords, batch.targets
    labels, centers = targets.labels, targets.centers
    spelling, respelled = common_spellings(typed, keywords, labels, centers, targets.owners)
    edited = edit_queries(replace(typed, words=keywords.item[typed.words]), labels, centers)
    # (center, item) pairs ascend, so one binary search finds the spelling of each word.
    width = max(len(keywords.item), 1)
    cells = labels[edited.threads[edited.rows]] * width + edited.words
    words = spelling[np.searchsorted(centers.rows * width + centers.items, cells)]
    if targets.as_typed:
        words = restore_typed_words(typed, keywords, edited, words)
    elif (rare := int((keywords.owners[spelling] < targets.owners).sum())) > 0:
        raise NotAnonymousError(
            f"min_owners = {targets.owners} users must have typed every published keyword; "
            f"{rare} keywords have fewer. Nothing was returned. This is a bug in setanon."
        )
    published, rows = replace(edited, words=words), len(edited.threads)
    true_rows = rows
    if targets.sharing_users is not None:
        published, true_rows = share_lists(published, labels, targets.users, targets.sharing_users)
    narrow = published.words.astype(typed.words.dtype)
    queries = Queries(narrow, published.offsets, batch.threads[published.threads])
    return EditedQueries(queries, EditCounts(respelled, rows, true_rows))


def _positions(cells: Ints, ascending: Ints) -> Ints:
    """The position of each cell among the ascending ones; -1 if it is not one of them."""
    position = np.searchsorted(ascending, cells)
    position[position == len(ascending)] = 0
    if len(ascending) == 0:
        return np.full(len(cells), -1)
    return np.where(ascending[position] == cells, position, -1)


def _keep_words(queries: Queries, keep: npt.NDArray[np.bool_]) -> Queries:
    """The queries with the words to keep; queries without any are dropped."""
    sizes = np.bincount(queries.rows[keep], minlength=len(queries.threads))
    filled = sizes > 0
    return Queries(queries.words[keep], offsets_of(sizes[filled]), queries.threads[filled])


def _incomplete_threads(thread: Ints, position: Ints, labels: Ints, centers: Sets) -> Ints:
    """The published threads that lack an item of their center.

    `thread` and `position` have for each word its thread and its position among the items of all
    centers.
    """
    n = max(len(centers.items), 1)
    present = np.bincount(sorted_unique(thread * n + position) // n, minlength=len(labels))
    published = np.flatnonzero(labels != WITHDRAWN)
    return published[present[published] < centers.sizes[labels[published]]]


def _missing_items(
    thread: Ints, position: Ints, labels: Ints, centers: Sets, incomplete: Ints
) -> dict[int, list[int]]:
    """For each incomplete thread, the positions of its missing items among those of all centers."""
    rows = np.isin(thread, incomplete)
    present = set(zip(thread[rows].tolist(), position[rows].tolist(), strict=True))
    groups = labels[incomplete]
    starts, stops = centers.offsets[groups].tolist(), centers.offsets[groups + 1].tolist()
    return {
        number: [item for item in range(start, stop) if (number, item) not in present]
        for number, start, stop in zip(incomplete.tolist(), starts, stops, strict=True)
    }


def _add_words(
    queries: Queries, position: Ints, missing: dict[int, list[int]], centers: Sets
) -> Queries:
    """Rewrite the incomplete threads; the queries of all others stay unchanged."""
    added = np.unique([item for items in missing.values() for item in items])
    neighbours = _count_neighbours(queries, position, added)
    incomplete = np.isin(queries.threads, np.fromiter(missing, np.int64, len(missing)))
    rewritten: dict[int, list[list[int]]] = {thread: [] for thread in missing}
    for thread, query in queries.take(np.flatnonzero(incomplete)).lists():
        rewritten[thread].append(query)
    for thread, items in missing.items():
        for item in items:
            _insert(rewritten[thread], int(centers.items[item]), neighbours[item])
    new = [(thread, query) for thread, texts in rewritten.items() for query in texts]
    unchanged = queries.take(np.flatnonzero(~incomplete))
    both = Queries(
        np.append(unchanged.words, [word for _, query in new for word in query]),
        offsets_of(np.append(np.diff(unchanged.offsets), [len(query) for _, query in new])),
        np.append(unchanged.threads, [thread for thread, _ in new]),
    )
    return both.take(np.argsort(both.threads, kind="stable"))


class _Neighbours:
    """How often an item of a center occurs between two words, after a word, before a word."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[int, int]] = Counter()
        self.lefts: Counter[int] = Counter()
        self.rights: Counter[int] = Counter()

    def add(self, left: int, right: int, count: int) -> None:
        self.pairs[left, right] += count
        self.lefts[left] += count
        self.rights[right] += count


def _count_neighbours(queries: Queries, position: Ints, items: Ints) -> dict[int, _Neighbours]:
    """The neighbours of the items at these positions among those of all centers."""
    counts: defaultdict[int, _Neighbours] = defaultdict(_Neighbours)
    row = queries.rows
    left = np.where(np.diff(row, prepend=-1) == 0, np.roll(queries.words, 1), EDGE)
    right = np.where(np.diff(row, append=-1) == 0, np.roll(queries.words, -1), EDGE)
    rows = np.flatnonzero(np.isin(position, items))
    columns = (column[rows].tolist() for column in (position, left, right))
    for (item, before, after), count in Counter(zip(*columns, strict=True)).items():
        counts[item].add(before, after, count)
    return counts


def _insert(queries: list[list[int]], item: int, neighbours: _Neighbours) -> None:
    """Insert the item where its neighbours are the most frequent ones in other threads."""
    if not queries:
        queries.append([])
    pairs, lefts, rights = neighbours.pairs, neighbours.lefts, neighbours.rights

    def score(slot: tuple[int, int]) -> tuple[int, int, int, int, int]:
        q, at = slot
        left = queries[q][at - 1] if at else EDGE
        right = queries[q][at] if at < len(queries[q]) else EDGE
        before, after = lefts.get(left, 0), rights.get(right, 0)
        words = (before if left != EDGE else 0) + (after if right != EDGE else 0)
        # Both neighbours, then either one, then the edge of a query, then the first position.
        return pairs.get((left, right), 0), words, before + after - words, -q, -at

    # All other positions score 0, and the first position of all is an edge.
    slots = {(q, at) for q, query in enumerate(queries) for at in (0, len(query))}
    for q, query in enumerate(queries):
        slots.update((q, at + 1) for at in _occurrences(query, lefts))
        slots.update((q, at) for at in _occurrences(query, rights))
    q, at = max(slots, key=score)
    queries[q].insert(at, item)


def _occurrences(query: list[int], words: Counter[int]) -> Iterator[int]:
    """The positions of any of these words in the query."""
    if len(words) > LINEAR_SEARCH:
        yield from (at for at, word in enumerate(query) if word in words)
        return
    for word in words:
        at = -1
        for _ in range(query.count(word)):
            at = query.index(word, at + 1)
            yield at


def _require_centers(queries: Queries, labels: Ints, centers: Sets, rewritten: Ints) -> None:
    """Check the rewritten threads again; the words of all others were just counted."""
    changed = queries.take(np.flatnonzero(np.isin(queries.threads, rewritten)))
    width = max(int(changed.words.max(initial=0)) + 1, centers.width)
    thread = changed.threads[changed.rows]
    position = _positions(
        labels[thread] * width + changed.words, centers.rows * width + centers.items
    )
    valid = position >= 0
    incomplete = _incomplete_threads(thread[valid], position[valid], labels, centers)
    wrong = len(np.intersect1d(incomplete, rewritten)) + int((~valid).sum())
    if wrong:
        raise NotAnonymousError(
            f"the words of every published thread must be its center; {wrong} words or threads "
            "differ. Nothing was returned. This is a bug in setanon."
        )
