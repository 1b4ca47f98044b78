"""Sections 5.2 and 5.3: keywords, items, cluster keys and place of each thread."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.identity import item_names
from setanon_core.keywords.minhash import word_hashes
from setanon_core.keywords.tokenize import tokenize, tokenize_all
from setanon_core.model.inputs import Baskets
from setanon_core.model.queries import Queries
from setanon_core.params import Identity, ReleaseParams, Tokenizer
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_dagster import metadata_keys
from setanon_dagster.engines.protocol import Engine
from setanon_dagster.stages.arrow import encode, encode_sorted, list_column
from setanon_dagster.stages.place_clusters import (
    COLUMNS,
    place_counts,
    place_table,
    same_place,
)
from setanon_dagster.storage.attribute_columns import attributes_of, stage_column

KEY_SIZES: Final = (4, 3, 2, 1)
"""Min-Hashes per cluster key; a thread has one key for each p."""

PLAIN_QUERY: Final = r"\A[A-Za-z0-9]+(?: [A-Za-z0-9]+)*\z"
"""ASCII words separated by single blanks: most queries. They are tokenized by Arrow."""

SCHEMA: Final = pa.schema(
    {
        "thread": pa.int64(),
        "user": pa.string(),
        "words": pa.list_(pa.string()),
        "lengths": pa.list_(pa.int32()),
        "items": pa.list_(pa.string()),
        "keys": pa.list_(pa.uint64()),
        **COLUMNS,
    }
)
"""`words`: the typed words of all queries; `lengths`: the number of words of each query; `keys`:
for `method="paper"`; `places` and `savings`: see `place_clusters`."""

NAME: Final = pa.field("name", pa.string())
"""Column of baskets only. A thread of queries is identified by its user and its number."""


def clusters_table(threads: pa.Table, params: ReleaseParams) -> pa.Table:
    """Clusters of a complete table of threads, which is ordered by thread and position."""
    return place_table(
        tokenize_threads(threads, params.tokenizer, params.identity, params.attribute_names), params
    )


def clusters_stream(engine: Engine, threads: Any, params: ReleaseParams) -> Any:  # noqa: ANN401
    """Clusters of any number of threads, as a relation of the engine.

    They are equal to `clusters_table` except for the places of a large log: see `place_clusters`.
    """
    attributes = params.attribute_names
    columns = "".join(f", {stage_column(name)}" for name in attributes)
    return engine.group_map(
        engine.sql(
            f'SELECT thread, "user", query, "position"{columns} FROM threads',  # noqa: S608 - checked names
            threads=threads,
        ),
        "thread",
        "position",
        partial(
            tokenize_threads,
            tokenizer=params.tokenizer,
            identity=params.identity,
            attributes=attributes,
        ),
        clusters_schema(attributes),
        presorted=True,
        step="clusters",
    )


def basket_clusters_table(raw: pa.Table) -> pa.Table:
    """Clusters of baskets (record, item, user): each basket is a thread of one query."""
    records, items, users = (raw[name].to_pylist() for name in ("record", "item", "user"))
    threads = threads_of_baskets(Baskets(records, items, users), "exact")  # merged by the reader
    owners = pa.array(threads.users, pa.string()).take(pa.array(threads.records.users))
    vocabulary = pa.array(threads.keywords.vocabulary, pa.string())
    table = _add_items_and_keys(np.arange(len(owners)), owners, threads.typed, vocabulary, "exact")
    table = table.add_column(2, NAME, pa.array(threads.names, pa.string()))
    rows, _ = encode_sorted(raw["record"])  # threads are in the order of their names
    return _add_attributes(table, raw, rows, attributes_of(raw.column_names))


def clusters_schema(attributes: Sequence[str]) -> pa.Schema:
    """The columns of clusters with these attributes; a thread has a sorted list of values."""
    columns = [pa.field(stage_column(name), pa.list_(pa.string())) for name in attributes]
    return pa.schema([*SCHEMA, *columns])


def tokenize_threads(
    threads: pa.Table,
    tokenizer: Tokenizer | None,
    identity: Identity,
    attributes: Sequence[str] = (),
) -> pa.Table:
    """Clusters of complete threads; the row of a thread does not depend on other threads."""
    thread = threads["thread"].to_numpy()
    starts = np.flatnonzero(np.diff(thread, prepend=-1))
    texts, distinct_texts = encode(threads["query"])
    words, offsets, vocabulary = _tokenize_texts(distinct_texts, tokenizer)
    lengths = np.diff(offsets)[texts]
    row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(thread)))
    typed = Queries(words[concat_ranges(offsets[texts], lengths)], offsets_of(lengths), row)
    users = threads["user"].take(pa.array(starts)).combine_chunks()
    table = _add_items_and_keys(thread[starts], users, typed, vocabulary, identity)
    return _add_attributes(table, threads, row, attributes)


def _add_attributes(
    table: pa.Table, source: pa.Table, row: Ints, attributes: Sequence[str]
) -> pa.Table:
    """Append the distinct values of each attribute; `row` is the cluster of each source row."""
    for name in attributes:
        column = source[stage_column(name)]
        known = pc.is_valid(column).to_numpy()
        values, texts = encode_sorted(column.filter(pc.is_valid(column)))
        width = max(len(texts), 1)
        rows, numbers = np.divmod(sorted_unique(row[known] * width + values), width)
        lists = list_column(rows, len(table), texts.take(pa.array(numbers)))
        table = table.append_column(stage_column(name), lists)
    return table


def cluster_counts(clusters: DuckDBPyRelation, p: int) -> dict[str, int | float]:
    """Counts of the clusters, by metadata key."""
    ((threads, users, items),) = clusters.aggregate(
        'count(*), count(DISTINCT "user"), coalesce(sum(len(items)), 0)'
    ).fetchall()
    clusters_of_p, largest = cluster_sizes(clusters, p)
    return {
        metadata_keys.USERS: users,
        metadata_keys.THREADS: threads,
        metadata_keys.KEYWORDS_PER_THREAD: items / max(threads, 1),
        metadata_keys.P: p,
        metadata_keys.CLUSTERS: clusters_of_p,
        metadata_keys.LARGEST_CLUSTER: largest,
        **place_counts(clusters),
    }


def cluster_sizes(clusters: DuckDBPyRelation, p: int) -> tuple[int, int]:
    """The number of clusters with p Min-Hashes, and the number of threads of the largest."""
    key = f"keys[{KEY_SIZES.index(p) + 1}]"
    sizes = clusters.aggregate("count(*) AS threads", key)
    ((number, largest),) = sizes.aggregate("count(*), coalesce(max(threads), 0)").fetchall()
    return number, largest


def _tokenize_texts(texts: pa.Array, tokenizer: Tokenizer | None) -> tuple[Ints, Ints, pa.Array]:
    """Word codes, offsets per text and vocabulary, as `tokenize_all` returns them.

    With the built-in tokenizer, only texts that are not plain are tokenized in Python.
    """
    if not (tokenizer is None or tokenizer is tokenize):
        codes, offsets, words = tokenize_all(texts.to_pylist(), tokenizer)
        return codes, offsets, pa.array(words, pa.string())
    not_plain = pc.invert(pc.match_substring_regex(texts, PLAIN_QUERY))
    tokenized = [" ".join(tokenize(text)) or None for text in texts.filter(not_plain).to_pylist()]
    joined = pc.replace_with_mask(
        pc.ascii_lower(texts), not_plain, pa.array(tokenized, pa.string())
    )
    lists = pc.split_pattern(joined, " ")  # null for a text without words
    codes, vocabulary = encode_sorted(pc.list_flatten(lists))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    return codes, offsets_of(lengths), vocabulary


def _add_items_and_keys(
    thread: Ints, users: pa.Array, typed: Queries, vocabulary: pa.Array, identity: Identity
) -> pa.Table:
    """One row per thread: its number, user, typed words, items and cluster keys."""
    n = len(thread)
    names, item_of_word = item_names(vocabulary.to_pylist(), identity)
    item_texts = vocabulary if identity == "exact" else pa.array(names, pa.string())
    width = max(len(item_texts), 1)
    word_rows = typed.threads[typed.rows]
    item_rows, items = np.divmod(
        sorted_unique(word_rows * width + item_of_word[typed.words]), width
    )
    records = Sets(items, offsets_of(np.bincount(item_rows, minlength=n)))
    keys = cluster_keys(records, word_hashes(names), KEY_SIZES)
    columns = [
        pa.array(thread),
        users,
        list_column(word_rows, n, vocabulary.take(pa.array(typed.words))),
        list_column(typed.threads, n, pa.array(np.diff(typed.offsets), pa.int32())),
        list_column(item_rows, n, item_texts.take(pa.array(items))),
        list_column(np.repeat(np.arange(n), len(KEY_SIZES)), n, pa.array(keys.ravel())),
        *same_place(n),
    ]
    return pa.table(columns, schema=SCHEMA)
