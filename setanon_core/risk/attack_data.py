"""`AttackData`: typed and published threads in one numbering, the input of every attack.

Build it from a release in memory (`AttackData.from_result`) or from columns of texts
(`AttackData.from_columns`). Every attack is a function of `AttackData` that returns a frozen
dataclass of counts with a `sentence`; apply it to `data` for the release, to `data.unedited()` for
the raw log, and to the data of the paper's release, to compare the three:

    view_uniqueness(data)                   views
    partial_knowledge(data)                 partial_knowledge
    homogeneity(data)                       homogeneity
    stitching(data)                         stitching
    combination_owners(data)                combinations

Three attacks take logs or releases in place of `AttackData`:

    difference_releases(before, after)      differencing: two releases, and one person
    difference_persons(log, persons, anonymize)
    infer_differences(before, after)        differencing: the counts of two certificates
    sybil_attack(log, k, guesses, anonymize)    sybils

Paper:      none.
Guarantee:  two keywords, queries or users have one number if and only if they are equal.
Complexity: O(W log W) for W words.
Deviation:  none.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.encode import encode_first_seen
from setanon_core.columns.sets import Sets
from setanon_core.errors import MalformedInputError
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Baskets, Log
from setanon_core.model.publication import Ledger, Release, ReleaseResult, SetRelease
from setanon_core.params import Tokenizer
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_core.pipeline.log import threads_of_log
from setanon_core.risk.thread_columns import PublishedThreads, QueryWords, TypedThreads


class TypedRows(NamedTuple):
    """The typed queries of a log: one thread number, user and text per row.

    Rows are sorted by thread, then by position; threads are numbered from 0.
    """

    threads: Iterable[int]
    users: Iterable[Hashable]
    queries: Iterable[str]

    def __repr__(self) -> str:
        """The name only: a traceback or a log must not show any data."""
        return "TypedRows(threads, users, queries)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttackData:
    """What was typed and what is published, with the same keyword, query and user numbers."""

    typed: TypedThreads
    published: PublishedThreads
    distinct: QueryWords
    k: int

    def __repr__(self) -> str:
        """Counts only."""
        return f"AttackData(k={self.k}, {self.typed!r}, {self.published!r})"

    def unedited(self) -> "AttackData":
        """The raw log in place of the release: every typed thread, published as it is."""
        typed = self.typed
        threads = PublishedThreads(
            typed.keywords,
            typed.queries if self.published.has_lists else typed.queries[:0],
            typed.offsets if self.published.has_lists else np.zeros_like(typed.offsets),
            self.published.has_lists,
            typed.users,
            np.arange(len(typed.users)),
        )
        return AttackData(typed, threads, self.distinct, self.k)

    @classmethod
    def from_result(cls, data: Log | Baskets | Any, result: ReleaseResult) -> "AttackData":  # noqa: ANN401
        """The data of a release in memory; `data` is the `Log` or `Baskets` it was made from.

        >>> from setanon_core import anonymize_log
        >>> log = [("ann", 1, "pine straw"), ("bob", 2, "pine straw"), ("cem", 3, "zqx")]
        >>> AttackData.from_result(log, anonymize_log(log, k=2))
        AttackData(k=2, TypedThreads(3 threads), PublishedThreads(2 threads))
        """
        if isinstance(data, Baskets):
            threads = threads_of_baskets(data)
        else:
            threads = threads_of_log(Log.from_data(data), result.params)
        texts = threads.keywords.vocabulary
        rows = _KeywordRows(
            threads.typed.threads.tolist(),
            [[texts[word] for word in words] for _, words in threads.typed.lists()],
            [threads.users[user] for user in threads.records.users.tolist()],
        )
        params = result.params
        return rows.attack_data(result.release, result.ledger, params.k, params.tokenizer)

    @classmethod
    def from_columns(
        cls,
        typed: TypedRows,
        release: Release,
        ledger: Ledger | None,
        k: int,
        *,
        tokenizer: Tokenizer | None = None,
    ) -> "AttackData":
        """The data of stored tables: typed threads, published rows and private ledger.

        The ledger names threads by the numbers of the typed threads.

        >>> from setanon_core import SetRelease
        >>> typed = TypedRows([0, 1], ["ann", "bob"], ["pine straw", "straw pine"])
        >>> release = SetRelease(("a1", "b2"), (("pine", "straw"), ("pine", "straw")))
        >>> ledger = Ledger(("a1", "b2"), (1, 0), ("bob", "ann"))
        >>> AttackData.from_columns(typed, release, ledger, k=2)
        AttackData(k=2, TypedThreads(2 threads), PublishedThreads(2 threads))
        """
        split = tokenizer or tokenize
        numbers = list(typed.threads)
        owners: dict[int, Hashable] = dict(zip(numbers, typed.users, strict=True))
        users = list(map(owners.get, range(len(owners))))
        if numbers != sorted(numbers) or not owners.keys() <= set(range(len(owners))):
            raise MalformedInputError(
                f"typed threads must be sorted and numbered from 0 to {len(owners) - 1}; they are "
                "not. Sort the rows by thread and position, and number the threads."
            )
        rows = _KeywordRows(numbers, [list(split(query)) for query in typed.queries], users)
        return rows.attack_data(release, ledger, k, tokenizer)


class _KeywordRows(NamedTuple):
    """Typed queries as lists of keywords: the thread of each query, and the user of each thread."""

    threads: list[int]
    queries: list[list[str]]
    users: list[Hashable]

    def attack_data(
        self, release: Release, ledger: Ledger | None, k: int, tokenizer: Tokenizer | None
    ) -> AttackData:
        """Number the keywords, queries and users of all tables at once."""
        # Queries without keywords cannot be published.
        threads = np.fromiter(compress(self.threads, self.queries), np.int64)
        queries = list(filter(None, self.queries))
        thread_ids = list(dict.fromkeys(release.thread_ids))
        position = dict(zip(thread_ids, range(len(thread_ids)), strict=True))
        rows = np.fromiter(map(position.__getitem__, release.thread_ids), np.int64)
        distinct, numbers = encode_queries([*queries, *published_words(release, tokenizer)])
        typed_numbers, numbers = numbers[: len(queries)], numbers[len(queries) :]
        users, _ = encode_first_seen(self.users)
        typed = TypedThreads(
            *_threads_of(distinct, threads, typed_numbers, len(users)), users=users
        )
        keywords, numbers, offsets = _threads_of(distinct, rows, numbers, len(thread_ids))
        has_lists = not isinstance(release, SetRelease)
        sources = None if ledger is None else _sources(ledger, thread_ids, len(users))
        published = PublishedThreads(
            keywords,
            numbers if has_lists else numbers[:0],
            offsets if has_lists else np.zeros_like(offsets),
            has_lists,
            # Not the users of the ledger: a wrong ledger must not hide a risk.
            None if sources is None else users[sources],
            sources,
        )
        return AttackData(typed, published, distinct, k)


def published_words(release: Release, tokenizer: Tokenizer | None) -> list[list[str]]:
    """The keywords of each published row: a query, or a set."""
    if isinstance(release, SetRelease):
        return list(map(list, release.keywords))
    split = tokenizer or tokenize
    # A text without keywords must not be equal to another one.
    return [list(split(query)) or [query] for query in release.queries]


def encode_queries(queries: Sequence[Sequence[str]]) -> tuple[QueryWords, Ints]:
    """Number the distinct queries and their keywords; return them and the number of each query."""
    numbers, distinct = encode_first_seen(map(tuple, queries))
    words, vocabulary = encode_first_seen(chain.from_iterable(distinct))
    sizes = np.fromiter(map(len, distinct), np.int64, len(distinct))
    return QueryWords(words, offsets_of(sizes), vocabulary), numbers


def _threads_of(distinct: QueryWords, rows: Ints, queries: Ints, n: int) -> tuple[Sets, Ints, Ints]:
    """Keyword sets, queries and offsets of n threads; `rows` has the thread of each query."""
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    width = max(len(distinct.vocabulary), 1)
    # A cell is a pair (thread, keyword) as one number.
    cells = sorted_unique(np.repeat(rows, sizes) * width + words)
    keywords = Sets(cells % width, offsets_of(np.bincount(cells // width, minlength=n)))
    return keywords, queries, offsets_of(np.bincount(rows, minlength=n))


def _sources(ledger: Ledger, thread_ids: Sequence[str], n: int) -> Ints:
    """The typed thread of each published thread; n is the number of typed threads."""
    by_id = dict(zip(ledger.thread_ids, ledger.threads, strict=True))
    sources = np.fromiter((by_id.get(each, -1) for each in thread_ids), np.int64)
    unknown = int(((sources < 0) | (sources >= n)).sum())
    if unknown:
        raise MalformedInputError(
            f"the ledger must name a typed thread for every published thread; {unknown} have none. "
            "Pass the ledger of this release."
        )
    return sources
