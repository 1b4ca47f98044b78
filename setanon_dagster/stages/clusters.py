"""Sections 5.2 and 5.3: threads to keywords, items and cluster keys, each thread for itself."""

from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyRelation

from setanon_core.columns.arrays import Ints, concat_ranges, offsets_of, sorted_unique
from setanon_core.columns.sets import Sets
from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.items import item_names
from setanon_core.keywords.minhash import word_hashes
from setanon_core.keywords.tokenize import tokenize, tokenize_all
from setanon_core.model.inputs import Baskets
from setanon_core.model.queries import Queries
from setanon_core.params import Identity, ReleaseParams, Tokenizer
from setanon_core.pipeline.baskets import threads_of_baskets
from setanon_dagster import metadata_keys as keys
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.stages.arrow import coded, lists, numbered

ROUNDS: Final = (4, 3, 2, 1)
"""Min-Hashes in the cluster keys of a thread."""

PLAIN: Final = r"\A[A-Za-z0-9]+(?: [A-Za-z0-9]+)*\z"
"""Most queries: words of letters and digits, with a blank between them."""

SCHEMA: Final = pa.schema(
    {
        "thread": pa.int64(),
        "user": pa.string(),
        "words": pa.list_(pa.string()),
        "lengths": pa.list_(pa.int32()),
        "items": pa.list_(pa.string()),
        "keys": pa.list_(pa.uint64()),
    }
)
"""`words` are those of all queries as typed, `lengths` says how many of them each query has."""

NAMED: Final = SCHEMA.insert(2, pa.field("name", pa.string()))
"""Baskets have names of their own; a thread is named by its user and its place among the user's."""


def clusters_table(threads: pa.Table, params: ReleaseParams) -> pa.Table:
    """Threads of queries, in their order, with their keywords, items and keys."""
    return cut_up(threads, params.tokenizer, params.identity)


def clusters_stream(
    engine: EmbeddedEngine, threads: DuckDBPyRelation, params: ReleaseParams
) -> pa.RecordBatchReader:
    """The same for a log of any size, stored in the order of threads and positions."""
    return engine.group_map(
        threads.select('thread, "user", query'),
        "thread",
        "position",
        partial(cut_up, tokenizer=params.tokenizer, identity=params.identity),
        SCHEMA,
        ordered=True,
        what="clusters",
    )


def cut_up(threads: pa.Table, tokenizer: Tokenizer | None, identity: Identity) -> pa.Table:
    """The same for some threads: what is made of one does not depend on the others."""
    thread = threads["thread"].to_numpy()
    begins = np.flatnonzero(np.diff(thread, prepend=-1))
    text, texts = coded(threads["query"])
    words, bounds, vocabulary = _worded(texts, tokenizer)
    sizes = np.diff(bounds)[text]
    local = np.repeat(np.arange(len(begins)), np.diff(begins, append=len(thread)))
    typed = Queries(words[concat_ranges(bounds[text], sizes)], offsets_of(sizes), local)
    users = threads["user"].take(pa.array(begins)).combine_chunks()
    return _keyed(thread[begins], users, typed, vocabulary, identity)


def basket_clusters_table(raw: pa.Table) -> pa.Table:
    """Baskets, (record, item, user), to the same table: each is a thread of one query."""
    record, item, user = (raw[name].to_pylist() for name in ("record", "item", "user"))
    threads = threads_of_baskets(Baskets(record, item, user))
    users = pa.array(threads.users, pa.string()).take(pa.array(threads.records.users))
    spelled = pa.array(threads.keywords.vocabulary, pa.string())
    table = _keyed(np.arange(len(users)), users, threads.typed, spelled, "exact")
    return table.add_column(2, NAMED.field("name"), pa.array(threads.names, pa.string()))


def cluster_counts(clusters: DuckDBPyRelation, p: int) -> dict[str, int | float]:
    """What a person wants to know of them, in numbers."""
    ((threads, users, items),) = clusters.aggregate(
        'count(*), count(DISTINCT "user"), coalesce(sum(len(items)), 0)'
    ).fetchall()
    found, largest = cluster_sizes(clusters, p)
    return {
        keys.USERS: users,
        keys.THREADS: threads,
        keys.KEYWORDS_PER_THREAD: items / max(threads, 1),
        keys.P: p,
        keys.CLUSTERS: found,
        keys.LARGEST_CLUSTER: largest,
    }


def cluster_sizes(clusters: DuckDBPyRelation, p: int) -> tuple[int, int]:
    """How many clusters the round with p Min-Hashes has, and the threads of the largest."""
    key = f"keys[{ROUNDS.index(p) + 1}]"
    sizes = clusters.aggregate("count(*) AS threads", key)
    ((found, largest),) = sizes.aggregate("count(*), coalesce(max(threads), 0)").fetchall()
    return found, largest


def _worded(texts: pa.Array, tokenizer: Tokenizer | None) -> tuple[Ints, Ints, pa.Array]:
    """The same as `tokenized`, which sees only those texts that are not plain."""
    if not (tokenizer is None or tokenizer is tokenize):
        numbers, bounds, vocabulary = tokenize_all(texts.to_pylist(), tokenizer)
        return numbers, bounds, pa.array(vocabulary, pa.string())
    odd = pc.invert(pc.match_substring_regex(texts, PLAIN))
    cut = [" ".join(tokenize(text)) or None for text in texts.filter(odd).to_pylist()]
    low = pc.replace_with_mask(pc.ascii_lower(texts), odd, pa.array(cut, pa.string()))
    words = pc.split_pattern(low, " ")  # of a text without words there is no list
    numbers, vocabulary = numbered(pc.list_flatten(words))
    sizes = pc.fill_null(pc.list_value_length(words), 0).to_numpy()
    return numbers, offsets_of(sizes), vocabulary


def _keyed(
    thread: Ints, users: pa.Array, typed: Queries, spelled: pa.Array, identity: Identity
) -> pa.Table:
    """Threads as a table, with their items by name and their cluster keys."""
    n = len(thread)
    names, item = item_names(spelled.to_pylist(), identity)
    named = spelled if identity == "exact" else pa.array(names, pa.string())
    width = max(len(named), 1)
    holder = typed.threads[typed.rows]
    of, items = np.divmod(sorted_unique(holder * width + item[typed.words]), width)
    records = Sets(items, offsets_of(np.bincount(of, minlength=n)))
    keys = cluster_keys(records, word_hashes(names), ROUNDS)
    columns = [
        pa.array(thread),
        users,
        lists(holder, n, spelled.take(pa.array(typed.words))),
        lists(typed.threads, n, pa.array(np.diff(typed.offsets), pa.int32())),
        lists(of, n, named.take(pa.array(items))),
        lists(np.repeat(np.arange(n), len(ROUNDS)), n, pa.array(keys.ravel())),
    ]
    return pa.table(columns, schema=SCHEMA)
