"""Queries as lists of keywords, in the same form for the original and for a release."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, compress
from typing import Any, Final

import numpy as np

from setanon_core.columns.arrays import Bools, Ints
from setanon_core.columns.encode import encode_first_seen, encode_values
from setanon_core.columns.users import distinct_users, encode_users
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Log
from setanon_core.model.publication import QueryRelease
from setanon_core.model.queries import Threads
from setanon_core.params import Tokenizer

Query = tuple[str, ...]
"""The keywords of a query, in the order typed; at least one."""

HELD_OUT: Final = 5
"""One of this many users is held out, to predict their queries from those of the others."""

HASH_KEY: Final = b"setanon utility"
"""Key of the hashes that select held-out users. It is not secret."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryTexts:
    """Queries and their threads; the queries of a thread are adjacent, in the order typed."""

    threads: Ints
    queries: Sequence[Query]

    @property
    def has_previous(self) -> Bools:
        """Whether each query has a previous one in its thread."""
        has_previous: Bools = np.diff(self.threads, prepend=-1) == 0
        return has_previous

    def without_repeats(self) -> "QueryTexts":
        """The queries that differ from the previous one in their thread."""
        number = encode_first_seen(self.queries)[0]
        new = ~self.has_previous | (np.diff(number, prepend=-1) != 0)
        return QueryTexts(self.threads[new], list(compress(self.queries, new.tolist())))


def typed_texts(threads: Threads) -> QueryTexts:
    """The queries as typed, except those without keywords."""
    words = threads.keywords.vocabulary
    rows = [(thread, query) for thread, query in threads.typed.lists() if query]
    return QueryTexts(
        np.asarray([thread for thread, _ in rows], np.int64),
        [tuple(words[word] for word in query) for _, query in rows],
    )


def released_texts(release: QueryRelease, tokenizer: Tokenizer | None) -> QueryTexts:
    """The published queries, tokenized as the original was."""
    texts, distinct = encode_first_seen(release.queries)
    tokenized = [tuple((tokenizer or tokenize)(text)) for text in distinct]
    queries = [tokenized[text] for text in texts.tolist()]
    not_empty = np.fromiter(map(bool, queries), np.bool_, len(queries))
    threads = encode_first_seen(release.thread_ids)[0]
    return QueryTexts(threads[not_empty], list(compress(queries, not_empty.tolist())))


def split_users(log: Log) -> tuple[Log, Log]:
    """The queries of the users that are kept, and those of the held-out users.

    A user is held out by a keyed hash of the name alone, so that other users and the order of the
    rows make no difference.
    """
    names = distinct_users(log.users)
    user = encode_users(log.users, len(log.queries))
    held_out = np.fromiter(map(_is_held_out, names), np.bool_, len(names))[user]
    return _rows(log, ~held_out), _rows(log, held_out)


def _is_held_out(name: Hashable) -> bool:
    text = str(name).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, key=HASH_KEY, digest_size=8).digest()) % HELD_OUT == 0


def _rows(log: Log, mask: Bools) -> Log:
    return Log(*(_filter(column, mask) for column in (log.users, log.times, log.queries)))


def _filter(column: Any, mask: Bools) -> Any:  # noqa: ANN401 - any column
    if isinstance(column, np.ndarray):
        return column[mask]
    values: Iterable[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(compress(values, mask.tolist()))


def encode_words(queries: Sequence[Query]) -> tuple[Ints, Ints, Sequence[str]]:
    """The query and the number of each word, and the sorted vocabulary."""
    sizes = np.fromiter(map(len, queries), np.int64, len(queries))
    words, vocabulary = encode_values(chain.from_iterable(queries), "keyword")
    return np.repeat(np.arange(len(sizes)), sizes), words, tuple(map(str, vocabulary))
