"""Users and words of `clusters` compared with the queries of `threads`, in ranges of threads.

Plain ASCII queries are split here; the tokenizer splits all others, each distinct text once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from setanon_dagster.verifier.sql import Connection, query_arrow

Tokenizer = Callable[[str], Sequence[str]]
"""Splits a query into keywords."""

RANGE_THREADS: Final = 245_760
"""Threads that are compared at once: two row groups of our files."""

PLAIN: Final = r"\A[A-Za-z0-9]+( [A-Za-z0-9]+)*\z"
"""Queries whose keywords are their words in lower case, with the default tokenizer."""

CLUSTERS: Final = """SELECT thread, "user", words, lengths FROM clusters
    WHERE thread BETWEEN {first} AND {last}"""
ROWS: Final = """SELECT thread, position, "user", query FROM threads
    WHERE thread BETWEEN {first} AND {last}"""

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Rows = TypeVar("Rows", pa.Table, pa.ChunkedArray, pa.Array)


def count_thread_faults(
    connection: Connection, tokenizer: Tokenizer, *, splits_at_blanks: bool
) -> dict[str, int]:
    """Count threads with a wrong user, with wrong words, and without rows; and rows without thread.

    The connection has the views `threads` (thread, position, user, query) and `clusters` (thread,
    user, words, lengths). `splits_at_blanks`: the tokenizer splits `PLAIN` queries at blanks.
    """
    faults = dict.fromkeys(("wrong_users", "wrong_words", "without_rows"), 0)
    split = _Splitter(tokenizer, splits_at_blanks=splits_at_blanks)
    (total,) = query_arrow(connection, "SELECT count(*) AS n FROM threads")["n"].to_pylist()
    rows = 0
    for first, last in _ranges(connection, faults):
        clusters = _sorted(query_arrow(connection, CLUSTERS.format(first=first, last=last)))
        queries = _sorted(query_arrow(connection, ROWS.format(first=first, last=last)))
        rows += len(queries)
        for name, count in _compare(clusters, queries, split).items():
            faults[name] += count
    # Rows outside of all ranges have no thread, or that of no cluster.
    faults["without_rows"] += total - rows
    return faults


def _ranges(connection: Connection, faults: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Ranges of thread numbers of at most `RANGE_THREADS` threads; repeated numbers are faults."""
    column = query_arrow(connection, "SELECT thread FROM clusters")["thread"]
    threads = np.sort(column.drop_null().to_numpy())
    faults["without_rows"] += column.null_count + int(np.sum(threads[1:] == threads[:-1]))
    for start in range(0, len(threads), RANGE_THREADS):
        part = threads[start : start + RANGE_THREADS]
        # A repeated number in two ranges would be counted in both.
        if start and part[0] == threads[start - 1]:
            part = part[part > part[0]]
        if len(part):
            yield int(part[0]), int(part[-1])


def _sorted(table: pa.Table) -> pa.Table:
    """The rows by thread and position; our stages write them in this order."""
    thread = table["thread"].to_numpy()
    position = table["position"].to_numpy() if "position" in table.column_names else thread
    ascending = (thread[1:] > thread[:-1]) | (
        (thread[1:] == thread[:-1]) & (position[1:] >= position[:-1])
    )
    return table if ascending.all() else table.take(pa.array(np.lexsort((position, thread))))


def _compare(clusters: pa.Table, queries: pa.Table, split: "_Splitter") -> dict[str, int]:
    """Count the faults of clusters and queries of one range, both sorted."""
    threads, n = clusters["thread"].to_numpy(), len(clusters)
    row_threads = queries["thread"].to_numpy()
    owner = np.searchsorted(threads, row_threads)  # the first of repeated threads
    known = threads[np.minimum(owner, max(n - 1, 0))] == row_threads if n else row_threads < 0
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
    typed = split(_keep(queries["query"], ~wrong[owner]))
    owner, lengths = owner[~wrong[owner]], lengths[~wrong[stored]]
    expected = pc.list_value_length(typed).to_numpy()
    wrong[owner[expected != lengths]] = True

    # Compare the words of those that still agree: they have a word for each keyword.
    kept = np.flatnonzero(~wrong)
    flat = pc.list_flatten(_keep(clusters["words"], ~wrong))
    keywords = pc.list_flatten(_keep(typed, ~wrong[owner]))
    different = ~_bools(pc.equal(flat, keywords))
    wrong[np.repeat(kept, words[kept])[different]] = True
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
    """Splits a column of queries into lists of keywords."""

    def __init__(self, tokenizer: Tokenizer, *, splits_at_blanks: bool) -> None:
        self.tokenizer, self.splits_at_blanks = tokenizer, splits_at_blanks
        self.known: dict[str, list[str]] = {}

    def __call__(self, queries: pa.ChunkedArray) -> pa.Array:
        """The keywords of each query."""
        encoded = pc.fill_null(queries.combine_chunks(), "").dictionary_encode()
        texts = encoded.dictionary
        plain = pc.match_substring_regex(texts, PLAIN)
        if not self.splits_at_blanks:
            plain = pa.array(np.zeros(len(texts), bool))
        lists = pc.split_pattern(pc.ascii_lower(texts), " ")
        others = [self._keywords(text) for text in texts.filter(pc.invert(plain)).to_pylist()]
        both = pa.concat_arrays([lists.filter(plain), pa.array(others, lists.type)])
        # Positions of the plain ones first, then of the others, as they were concatenated.
        order = np.argsort(~_bools(plain), kind="stable")
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        return both.take(pa.array(position[encoded.indices.to_numpy()]))

    def _keywords(self, text: str) -> list[str]:
        if text not in self.known:
            self.known[text] = list(self.tokenizer(text))
        return self.known[text]
