"""A query log in, a release with its ledger and its cost out: section 5 in memory.

Paper:      section 5, as a whole; Figure 5 shows what it does to one user.
Guarantee:  the keyword set of every published thread is published for threads of k users.
Complexity: that of the stages; everything is held in memory.
Deviation:  `method="best"` groups all threads at once, without LSH: itemsets find what keys would
            have put together, and more. `method="paper"` groups within clusters of p Min-Hashes,
            and withdraws clusters of fewer than k users; keys are taken of what `strip` leaves,
            where the paper takes them of whole threads. One spelling for each item and group.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from secrets import token_bytes
from typing import Any

import numpy as np
import numpy.typing as npt

from setanon_core.anonymize import anonymize_records
from setanon_core.clusters import cluster_keys, clusters
from setanon_core.columns import number_users, number_values
from setanon_core.edits import Queries, edit
from setanon_core.errors import InvalidParameterError, MalformedInputError, NotAnonymousError
from setanon_core.grouping.methods import Grouper, group
from setanon_core.keywords import Identity, Tokenizer, items_of, keywords, tokenized
from setanon_core.minhash import Hashes, word_hashes
from setanon_core.model import WITHDRAWN, Certificate, Grouping
from setanon_core.params import Params
from setanon_core.records import Records
from setanon_core.sets import Ints, Sets, bounds_of, spans
from setanon_core.similarity import EditDistance, Measure
from setanon_core.threads import separate
from setanon_core.users import repeats
from setanon_core.verify import verify


@dataclass(frozen=True, slots=True)
class LogParams(Params):
    """The knobs of `Params`, and those of the stages before and after the grouping."""

    p: int = 2
    """Min-Hashes of a cluster's key, with `method="paper"`; from 1 to 4."""

    identity: Identity = "exact"
    """Which keywords are one item: only the same, or those with the same Min-Hashes."""

    measure: Measure = field(default_factory=EditDistance)
    """Which queries of a session belong to one thread."""

    tokenizer: Tokenizer = keywords
    """What cuts a query into keywords; it must leave its own keywords, joined by blanks, alone."""

    secret: bytes = field(default_factory=lambda: token_bytes(32), repr=False)
    """Key of the thread ids; fresh and random if none is given. Up to 64 bytes."""

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        Params.__post_init__(self)
        if self.p not in range(1, 5):
            raise InvalidParameterError(f"p must be from 1 to 4; got {self.p}.")
        if self.identity not in ("exact", "minhash"):
            raise InvalidParameterError("identity must be one of exact, minhash.")
        if not 0 < len(self.secret) <= blake2b.MAX_KEY_SIZE:
            raise InvalidParameterError(
                f"secret must have 1 to {blake2b.MAX_KEY_SIZE} bytes; got {len(self.secret)}."
            )


@dataclass(frozen=True, slots=True)
class Release:
    """What is published: queries of threads, by thread id and position. It has no user."""

    thread_ids: tuple[str, ...]
    positions: tuple[int, ...]
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """Private: the user of every published thread."""

    thread_ids: tuple[str, ...]
    users: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class LogCost:
    """What it cost, in keywords of threads, and the certificate for the whole log."""

    threads: int
    keywords: int
    """Items of all threads: what could have been retained."""

    respellings: int
    certificate: Certificate

    @property
    def retained(self) -> float:
        """Share of the keywords that the cost has left."""
        return 1 - self.certificate.cost.total / max(self.keywords, 1)


def anonymize_log(
    users: Sequence[Hashable], times: npt.ArrayLike, queries: Sequence[str], params: LogParams
) -> tuple[Release, Ledger, LogCost]:
    """Separate threads, group them, edit their queries; verify, or refuse.

    >>> log = [("ann", "pine straw"), ("bob", "pine straw mulch"), ("cem", "straw, pine, mulch")]
    >>> users, queries = zip(*log)
    >>> release, ledger, cost = anonymize_log(users, [1, 2, 3], queries, LogParams(k=3))
    >>> sorted(release.queries)
    ['pine straw', 'pine straw', 'straw pine']
    """
    text, texts = number_values(list(queries), "query")
    user = number_users(users, len(text))
    thread = separate(user, times, text, params.measure, texts=[str(name) for name in texts])
    order = np.lexsort((np.asarray(times), thread))
    words, bounds, vocabulary = tokenized(map(str, texts), params.tokenizer)
    sizes = np.diff(bounds)[text[order]]
    typed = words[spans(bounds[text[order]], sizes)]
    item = items_of(vocabulary, params.identity)
    asked = Queries(item[typed], bounds_of(sizes), thread[order])
    owner = np.empty(int(thread.max(initial=-1)) + 1, np.int64)
    owner[thread] = user
    per_thread = np.bincount(asked.threads[asked.rows], minlength=len(owner))
    data = Records.from_columns(asked.words, bounds_of(per_thread), owner)
    result = anonymize_records(data, params, _grouping(vocabulary, item, params))
    names = np.asarray(result.vocabulary, np.int64)
    centers = Sets(names[result.centers.items], result.centers.offsets)
    edited = edit(asked, result.labels, centers)
    spelled, respellings = _spelled(asked, typed, edited, result.labels, item)
    names_of = dict(zip(user.tolist(), users, strict=True))
    published = np.flatnonzero(result.labels != WITHDRAWN).tolist()
    ledger = {thread: names_of[int(owner[thread])] for thread in published}
    ids = _ids(owner, names_of, published, params.secret)
    release = _release(edited, [vocabulary[word] for word in spelled.tolist()], ids)
    _refuse(release, {ids[thread]: name for thread, name in ledger.items()}, params)
    rows = sorted((ids[thread], name) for thread, name in ledger.items())
    cost = LogCost(len(owner), len(data.items), respellings, result.certificate)
    return release, Ledger(*_columns(rows, 2)), cost


def _grouping(vocabulary: Sequence[str], item: Ints, params: LogParams) -> Grouper:
    """How groups are formed: all threads at once, or cluster by cluster as in the paper."""
    if params.method == "best":
        return group
    _, first = np.unique(item, return_index=True)
    hashes = word_hashes(vocabulary[word] for word in first.tolist())
    return partial(_by_clusters, hashes=hashes, p=params.p)


def _by_clusters(records: Records, params: Params, hashes: Hashes, p: int) -> Grouping:
    """Section 5.2: group within each cluster of p Min-Hashes; what is too small is withdrawn."""
    number = clusters(cluster_keys(records, hashes, (p,))[:, 0])
    order = np.argsort(number, kind="stable")
    labels = np.full(len(records), WITHDRAWN)
    notes: dict[str, None] = {}
    spare = 0
    for part in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        found = group(records.subset(part), params)
        labels[part] = np.where(found.labels == WITHDRAWN, WITHDRAWN, found.labels + spare)
        spare += int(found.labels.max(initial=WITHDRAWN)) + 1
        notes.update(dict.fromkeys(found.notes))
    return Grouping(labels, notes=tuple(notes))


def _spelled(
    asked: Queries, typed: Ints, edited: Queries, labels: Ints, item: Ints
) -> tuple[Ints, int]:
    """The keyword for each edited word, the most common of its item in its group; respellings."""
    thread = asked.threads[asked.rows]
    label = labels[thread]
    inside = label != WITHDRAWN
    width = len(item)
    uses, times = np.unique(label[inside] * width + typed[inside], return_counts=True)
    cells = uses // width * width + item[uses % width]
    # The most common comes first in each cell; of equals, the first of the vocabulary.
    order = np.lexsort((uses, -times, cells))
    found, first = np.unique(cells[order], return_index=True)
    best = uses[order][first] % width
    want = labels[edited.threads[edited.rows]] * width + edited.words
    holder, word = np.divmod(np.unique(thread[inside] * width + typed[inside]), width)
    cell = labels[holder] * width + item[word]
    other = best[np.searchsorted(found, cell)] != word
    respelled = int((other & np.isin(cell, want)).sum())
    return best[np.searchsorted(found, want)], respelled


def _ids(
    owner: Ints, names_of: dict[int, Hashable], published: list[int], secret: bytes
) -> dict[int, str]:
    """Keyed hashes of a user and the number of the thread in that user's session."""
    nth = repeats(owner)
    ids = {
        thread: blake2b(
            f"{names_of[int(owner[thread])]}\0{nth[thread]}".encode("utf-8", "surrogatepass"),
            key=secret,
            digest_size=16,
        ).hexdigest()
        for thread in published
    }
    if len(set(ids.values())) < len(ids):
        raise MalformedInputError(
            "users must differ when written as text; some do not, such as a number and the same "
            "number as text. Make all users text."
        )
    return ids


def _release(edited: Queries, words: list[str], ids: dict[int, str]) -> Release:
    """Rows in the order of thread ids, which says nothing of users or times."""
    bounds = edited.offsets.tolist()
    position = repeats(edited.threads).tolist()
    rows = sorted(
        (ids[thread], position[q], " ".join(words[bounds[q] : bounds[q + 1]]))
        for q, thread in enumerate(edited.threads.tolist())
    )
    return Release(*_columns(rows, 3))


def _refuse(release: Release, ledger: dict[str, Hashable], params: LogParams) -> None:
    """Fail closed: ask the verifier about the very texts that would be published."""
    held: dict[str, set[str]] = {name: set() for name in ledger}
    for name, query in zip(release.thread_ids, release.queries, strict=True):
        held[name].update(params.tokenizer(query))
    verdict = verify(list(held.values()), params.k, list(ledger.values()))
    if not verdict.ok:
        raise NotAnonymousError(
            f"every published thread must share its keywords with k = {params.k} users; "
            f"{verdict.violations} do not. Nothing was returned. A tokenizer must find its own "
            "keywords again when they are joined by blanks."
        )


def _columns(rows: list[Any], width: int) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for row in rows) for column in range(width)]
