"""Queries of threads as a reader has them: of the original and of a release in the same form."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, compress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from setanon_core.columns.arrays import Ints
from setanon_core.columns.encode import encode_first_seen, encode_values
from setanon_core.columns.users import distinct_users, encode_users
from setanon_core.keywords.tokenize import tokenize
from setanon_core.model.inputs import Log
from setanon_core.model.publication import QueryRelease
from setanon_core.model.queries import Threads
from setanon_core.params import Tokenizer

Query = tuple[str, ...]
"""The keywords of a query, in the order typed; at least one."""

Bools = npt.NDArray[np.bool_]

HELD_OUT: Final = 5
"""One of so many users is held out, to ask what the others' queries foretell."""

KEY: Final = b"setanon utility"
"""Key of the hashes that hold users out; no secret, but not anybody's hash of names either."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Texts:
    """Queries and their threads; those of a thread stand together, in the order typed."""

    threads: Ints
    queries: Sequence[Query]

    @property
    def follows(self) -> Bools:
        """Whether each query has one before it in its thread."""
        follows: Bools = np.diff(self.threads, prepend=-1) == 0
        return follows

    def changed(self) -> "Texts":
        """The queries that are not the same as the one before in their thread."""
        number = encode_first_seen(self.queries)[0]
        new = ~self.follows | (np.diff(number, prepend=-1) != 0)
        return Texts(self.threads[new], list(compress(self.queries, new.tolist())))


def typed_texts(threads: Threads) -> Texts:
    """Queries as they were typed, without those that have no keyword."""
    words = threads.keywords.vocabulary
    rows = [(thread, query) for thread, query in threads.typed.lists() if query]
    return Texts(
        np.asarray([thread for thread, _ in rows], np.int64),
        [tuple(words[word] for word in query) for _, query in rows],
    )


def released_texts(release: QueryRelease, tokenizer: Tokenizer | None) -> Texts:
    """Queries as they were published, cut into keywords by the tokenizer that cut the original."""
    texts, distinct = encode_first_seen(release.queries)
    cut = [tuple((tokenizer or tokenize)(text)) for text in distinct]
    queries = [cut[text] for text in texts.tolist()]
    some = np.fromiter(map(bool, queries), np.bool_, len(queries))
    threads = encode_first_seen(release.thread_ids)[0]
    return Texts(threads[some], list(compress(queries, some.tolist())))


def split(log: Log) -> tuple[Log, Log]:
    """The queries of most users, and those of the users held out.

    A user is held out by a keyed hash of the name alone: whoever else is there, and wherever the
    rows stand, it is the same users.
    """
    names = distinct_users(log.users)
    user = encode_users(log.users, len(log.queries))
    held = np.fromiter(map(_is_held_out, names), np.bool_, len(names))[user]
    return _rows(log, ~held), _rows(log, held)


def _is_held_out(name: Hashable) -> bool:
    text = str(name).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, key=KEY, digest_size=8).digest()) % HELD_OUT == 0


def _rows(log: Log, mask: Bools) -> Log:
    return Log(*(_chosen(column, mask) for column in (log.users, log.times, log.queries)))


def _chosen(column: Any, mask: Bools) -> Any:  # noqa: ANN401 - any column
    if isinstance(column, np.ndarray):
        return column[mask]
    plain: Iterable[Any] = column.to_pylist() if hasattr(column, "to_pylist") else column
    return list(compress(plain, mask.tolist()))


def words_of(queries: Sequence[Query]) -> tuple[Ints, Ints, Sequence[str]]:
    """The query and the number of each word, and the words, in their order."""
    sizes = np.fromiter(map(len, queries), np.int64, len(queries))
    words, vocabulary = encode_values(chain.from_iterable(queries), "keyword")
    return np.repeat(np.arange(len(sizes)), sizes), words, tuple(map(str, vocabulary))
