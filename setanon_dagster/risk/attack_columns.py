"""Typed and published threads from the tables of the stages, as the input of the attacks.

Paper:      none.
Guarantee:  two queries have one number if and only if their keywords and the order are equal.
            With a ledger, the data do not depend on the secret of the thread ids.
Complexity: O(W log W) for W words; the texts stay in Arrow columns.
Deviation:  none.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.errors import MalformedInputError
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.thread_columns import (
    PublishedThreads,
    QueryWords,
    TypedThreads,
)
from setanon_dagster.stages.arrow import encode

TYPED_COLUMNS: Final = ("thread", "user", "words", "lengths")
"""Columns of `clusters` that the attacks need, in the order of the threads."""


def attack_data(
    clusters: pa.Table, published: pa.Table, ledger: pa.Table | None, k: int
) -> AttackData:
    """Number the queries, keywords and users of all tables at once.

    `clusters` has the typed threads, sorted by number from 0; `published` has the rows of
    `anonymized_threads`, sorted by thread and position. Without a ledger, users and sources of the
    published threads are unknown to the attacks.
    """
    if not np.array_equal(clusters["thread"].to_numpy(), np.arange(len(clusters))):
        raise MalformedInputError(
            "clusters must be sorted by thread and numbered from 0; at least one of "
            f"{len(clusters)} threads is not. Run the stage again."
        )
    typed_words, typed_lengths, typed_sizes = _typed_queries(clusters)
    has_lists = "query" in published.column_names
    published_words, published_lengths = _published_queries(published)
    distinct, queries = _number_queries(
        pa.chunked_array([typed_words, published_words], pa.string()),
        np.concatenate([typed_lengths, published_lengths]),
    )
    typed_queries, published_queries = np.split(queries, [len(typed_lengths)])
    threads = published["thread"].to_numpy()
    if (np.diff(threads) < 0).any():
        raise MalformedInputError(
            f"published rows must be sorted by thread; at least one of {len(threads)} rows is not. "
            "Sort them by thread and position."
        )
    sources, sizes = np.unique(threads, return_counts=True)
    users, _ = encode(clusters["user"])
    owners = users.astype(np.int64)
    if ledger is not None:
        _require_entries(ledger, sources, len(owners))
    offsets = offsets_of(sizes)
    keywords = _keyword_sets(distinct, published_queries, offsets)
    return AttackData(
        TypedThreads(
            _keyword_sets(distinct, typed_queries, offsets_of(typed_sizes)),
            typed_queries,
            offsets_of(typed_sizes),
            owners,
        ),
        PublishedThreads(
            keywords,
            published_queries if has_lists else published_queries[:0],
            offsets if has_lists else np.zeros_like(offsets),
            has_lists,
            None if ledger is None else owners[sources],
            None if ledger is None else sources,
        ),
        distinct,
        k,
    )


def _combined(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):  # an empty column has no chunk
        return (
            pa.concat_arrays(combined.chunks) if combined.num_chunks else pa.array([], column.type)
        )
    return combined


def _typed_queries(clusters: pa.Table) -> tuple[pa.Array, Ints, Ints]:
    """The words of all queries, the words per query, and the queries per thread."""
    per_thread = _combined(clusters["lengths"])
    lengths = pc.list_flatten(per_thread).to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(per_thread)), pc.list_value_length(per_thread).to_numpy())
    # Queries without keywords cannot be published.
    has_words = lengths > 0
    sizes = np.bincount(rows[has_words], minlength=len(per_thread))
    return pc.list_flatten(_combined(clusters["words"])), lengths[has_words], sizes


def _published_queries(published: pa.Table) -> tuple[pa.Array, Ints]:
    """The words of all rows and the words per row; a row is a query or a set."""
    lists = (
        pc.split_pattern(_combined(published["query"]), " ")
        if "query" in published.column_names
        else _combined(published["keywords"])
    )
    return pc.list_flatten(lists), pc.list_value_length(lists).to_numpy().astype(np.int64)


def _number_queries(words: pa.ChunkedArray, sizes: Ints) -> tuple[QueryWords, Ints]:
    """Number the distinct queries; return their keywords and the number of each query."""
    codes, vocabulary = encode(words)
    # `distinct` compares position by position; it does not need ascending values.
    queries = Sets.unchecked(items=codes.astype(np.int64), offsets=offsets_of(sizes))
    first, _, numbers = queries.distinct
    distinct = queries.take(first)
    return QueryWords(distinct.items, distinct.offsets, vocabulary.to_pylist()), numbers


def _keyword_sets(distinct: QueryWords, queries: Ints, offsets: Ints) -> Sets:
    """The keyword set of each thread; the queries of thread t begin at `offsets[t]`."""
    n = len(offsets) - 1
    threads = np.repeat(np.arange(n), np.diff(offsets))
    sizes = np.diff(distinct.offsets)[queries]
    words = distinct.words[concat_ranges(distinct.offsets[:-1][queries], sizes)]
    width = max(len(distinct.vocabulary), 1)
    # A cell is a pair (thread, keyword) as one number.
    cells = sorted_unique(np.repeat(threads, sizes) * width + words)
    return Sets(cells % width, offsets_of(np.bincount(cells // width, minlength=n)))


def _require_entries(ledger: pa.Table, threads: Ints, n: int) -> None:
    """Refuse published threads that the ledger or the typed threads do not have."""
    missing = int((~np.isin(threads, ledger["thread"].to_numpy())).sum())
    if missing or (len(threads) and not 0 <= threads.min() <= threads.max() < n):
        raise MalformedInputError(
            f"the ledger must name a typed thread for every published thread; {missing} are "
            "missing, or threads have other numbers. Pass the ledger of this release."
        )
