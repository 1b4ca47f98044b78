"""Users and words of `clusters` compared with the queries of `threads`, in batches of threads.

Queries of ASCII letters and digits are compared as text; the tokenizer splits all others, each
distinct text once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_dagster.verifier.sql import Connection, read_batches

Tokenizer = Callable[[str], Sequence[str]]
"""Splits a query into keywords."""

BATCH_THREADS: Final = 40_960
"""Threads that are compared at once."""

CLUSTERS: Final = 'SELECT thread, "user", words, lengths FROM clusters'
ROWS: Final = 'SELECT thread, position, "user", query FROM threads'
KEY: Final = ["thread", "position"]
ROW_SCHEMA: Final = pa.schema(
    {"thread": pa.int64(), "position": pa.int64(), "user": pa.string(), "query": pa.string()}
)

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Rows = TypeVar("Rows", pa.Table, pa.ChunkedArray, pa.Array)


def count_thread_faults(
    connection: Connection, tokenizer: Tokenizer, *, splits_at_blanks: bool
) -> dict[str, int]:
    """Count threads with a wrong user, with wrong words, and without rows; and rows without thread.

    The connection has the views `threads` (thread, position, user, query) and `clusters` (thread,
    user, words, lengths). `splits_at_blanks`: keywords of queries of ASCII letters and digits are
    their words in lower case.
    """
    split = _Splitter(tokenizer, splits_at_blanks=splits_at_blanks)
    try:
        # Our stages are stored in this order: they need not be sorted.
        return _count_faults(connection, split, ("", ""))
    except _UnsortedError:
        return _count_faults(connection, split, (" ORDER BY thread", " ORDER BY thread, position"))


class _UnsortedError(Exception):
    """Rows are not in the order of threads and positions."""


def _count_faults(
    connection: Connection, split: "_Splitter", orders: tuple[str, str]
) -> dict[str, int]:
    """Count the faults; `orders` are appended to the statements that read clusters and rows."""
    faults = dict.fromkeys(("wrong_users", "wrong_words", "without_rows"), 0)
    rows = _Rows(read_batches(connection, ROWS + orders[1]))
    last = np.array([], np.int64)
    for batch in read_batches(connection, CLUSTERS + orders[0], BATCH_THREADS):
        clusters = _with_thread(batch)
        threads = np.append(last, clusters["thread"].to_numpy())
        _require_order(threads)
        # The first of repeated threads is compared.
        clusters = _keep(clusters, np.append(True, np.diff(threads) > 0)[len(last) :])
        faults["without_rows"] += len(batch) - len(clusters)
        last = threads[-1:]
        if len(clusters):
            counts = _compare(clusters, rows.up_to(int(last[0])), split)
            faults = {name: count + counts[name] for name, count in faults.items()}
    faults["without_rows"] += rows.count_others()
    return faults


class _Rows:
    """The rows of the stage `threads`, in the order of threads and positions."""

    def __init__(self, batches: Iterator[pa.Table]) -> None:
        self.batches = batches
        self.unused = ROW_SCHEMA.empty_table()
        self.last = self.unused.select(KEY)
        self.without_thread = 0

    def up_to(self, thread: int) -> pa.Table:
        """The next rows, up to the last one of a thread."""
        tables = [self.unused]
        while not len(tables[-1]) or tables[-1]["thread"][-1].as_py() <= thread:
            batch = next(self.batches, None)
            if batch is None:
                break
            tables.append(self._in_order(batch))
        rows = pa.concat_tables(tables)
        n = int(np.searchsorted(rows["thread"].to_numpy(), thread, "right"))
        self.unused = rows.slice(n)
        return rows.slice(0, n)

    def count_others(self) -> int:
        """Count the rows that are left, and those without a thread."""
        left = len(self.unused) + sum(map(len, self.batches))
        return left + self.without_thread

    def _in_order(self, batch: pa.Table) -> pa.Table:
        """The rows of a batch that have a thread."""
        rows = _with_thread(batch)
        self.without_thread += len(batch) - len(rows)
        keys = pa.concat_tables([self.last, rows.select(KEY)])
        _require_order(*(keys[name].to_numpy() for name in KEY))
        self.last = keys.slice(max(len(keys) - 1, 0))
        return rows


def _with_thread(rows: pa.Table) -> pa.Table:
    return _keep(rows, _bools(pc.is_valid(rows["thread"])))


def _require_order(threads: Ints, positions: Ints | None = None) -> None:
    """Raise `_UnsortedError` unless rows ascend by thread, and by position in each thread."""
    steps = np.diff(threads)
    if (steps < 0).any() or (positions is not None and (np.diff(positions)[steps == 0] < 0).any()):
        raise _UnsortedError


def _compare(clusters: pa.Table, queries: pa.Table, split: "_Splitter") -> dict[str, int]:
    """Count the faults of clusters and queries of one range, both sorted.

    No query has a larger thread number than the last cluster, and no two clusters have the same.
    """
    threads, n = clusters["thread"].to_numpy(), len(clusters)
    row_threads = queries["thread"].to_numpy()
    owner = np.searchsorted(threads, row_threads)
    known = threads[owner] == row_threads
    sizes = np.bincount(owner[known], minlength=n)
    unknown = len(np.unique(row_threads[~known])) + int(np.sum(sizes == 0))

    queries, owner = _keep(queries, known), owner[known]
    users = pc.equal(clusters["user"].take(pa.array(owner)), queries["user"])
    wrong_user = np.zeros(n, bool)
    wrong_user[owner[~_bools(users)]] = True
    return {
        "wrong_users": int(wrong_user.sum()),
        "wrong_words": int((_wrong_words(clusters, queries, owner, sizes, split)).sum()),
        "without_rows": unknown,
    }


def _wrong_words(
    clusters: pa.Table, queries: pa.Table, owner: Ints, sizes: Ints, split: "_Splitter"
) -> Bools:
    """For each cluster, whether its words are not the keywords of its queries in order."""
    counts = _ints(pc.list_value_length(clusters["lengths"]))
    words = _ints(pc.list_value_length(clusters["words"]))
    lengths = _ints(pc.list_flatten(clusters["lengths"]))
    stored = np.repeat(np.arange(len(counts)), np.maximum(counts, 0))
    wrong: Bools = (counts != sizes) | (np.bincount(stored, lengths, len(counts)) != words)
    wrong[stored[lengths < 0]] = True

    # Compare the others: they have a length for each row.
    bounds = np.concatenate(([0], np.cumsum(lengths[~wrong[stored]])))
    flat = pc.list_flatten(_keep(clusters["words"], ~wrong)).combine_chunks()
    typed = pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), flat)
    kept = ~wrong[owner]
    different = ~split.are_keywords(typed, _keep(queries["query"], kept))
    wrong[owner[kept][different]] = True
    return wrong


def _keep(rows: Rows, mask: Bools) -> Rows:
    """The rows of a table or column that are true in a mask, without a copy if all are."""
    return rows if mask.all() else rows.filter(pa.array(mask))


def _bools(values: pa.Array | pa.ChunkedArray) -> Bools:
    """A Boolean column; null, which is not equal to anything, is false."""
    return np.asarray(pc.fill_null(values, fill_value=False), bool)


def _ints(values: pa.Array | pa.ChunkedArray) -> Ints:
    """An integer column; null, which is no valid length, is -1."""
    return np.asarray(pc.fill_null(values, -1), np.int64)


class _Splitter:
    """Compares lists of words with the keywords of queries."""

    def __init__(self, tokenizer: Tokenizer, *, splits_at_blanks: bool) -> None:
        self.tokenizer, self.splits_at_blanks = tokenizer, splits_at_blanks
        self.known: dict[str, list[str]] = {}

    def are_keywords(self, words: pa.ListArray, queries: pa.ChunkedArray) -> Bools:
        """For each query, whether its keywords are the words of the list at its position."""
        queries = pc.fill_null(queries.combine_chunks(), "")
        result = np.zeros(len(queries), bool)
        if self.splits_at_blanks:
            result = _are_plain(words) & _bools(
                pc.equal(pc.binary_join(words, " "), pc.ascii_lower(queries))
            )
        others = np.flatnonzero(~result)
        result[others] = self._are_tokens(words.take(others), queries.take(others))
        return result

    def _are_tokens(self, words: pa.ListArray, queries: pa.Array) -> Bools:
        """For each query, whether the tokenizer, called once per text, splits it into its words."""
        encoded = queries.dictionary_encode()
        lists = [self._keywords(text) for text in encoded.dictionary.to_pylist()]
        expected = pa.array(lists, words.type).take(encoded.indices)
        lengths = _ints(pc.list_value_length(expected))
        result: Bools = lengths == _ints(pc.list_value_length(words))
        # These have a word for each keyword.
        same = pc.equal(_keep(words, result).flatten(), _keep(expected, result).flatten())
        result[np.repeat(np.flatnonzero(result), lengths[result])[~_bools(same)]] = False
        return result

    def _keywords(self, text: str) -> list[str]:
        if text not in self.known:
            self.known[text] = list(self.tokenizer(text))
        return self.known[text]


def _are_plain(words: pa.ListArray) -> Bools:
    """For each list, whether its words are of ASCII letters and digits.

    A query that is such words with blanks between them consists of them.
    """
    plain = _bools(pc.ascii_is_alnum(words.flatten()))
    if plain.all():
        return np.ones(len(words), bool)
    lists = np.repeat(np.arange(len(words)), _ints(pc.list_value_length(words)))
    result = np.ones(len(words), bool)
    result[lists[~plain]] = False
    return result
