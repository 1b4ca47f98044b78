"""The stages as functions of Arrow tables: what the assets call, and nothing of Dagster.

Each takes the table of the stage before it and returns its own; the algorithms are the core's.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from setanon_core.baskets import Baskets, basket_threads
from setanon_core.clusters import cluster_keys
from setanon_core.edits import Queries
from setanon_core.minhash import word_hashes
from setanon_core.model import Cost
from setanon_core.pipeline import (
    Threads,
    edited_threads,
    group_threads,
    published_ids,
    threads_from,
    threads_of_rows,
)
from setanon_core.release import ReleaseCost, ReleaseParams
from setanon_core.sets import Ints, bounds_of, distinct_numbers
from setanon_core.threads import separate
from setanon_core.users import repeats

ROUNDS: Final = (4, 3, 2, 1)
"""Min-Hashes in the cluster keys of a thread; a key by its widest item comes after them."""

TOTAL: Final = "total"
"""The last row of a cost report, after those of the rounds."""


def threads_table(raw: pa.Table, params: ReleaseParams) -> pa.Table:
    """Section 5.1: (user, time, query) in the order of lines, to threads."""
    user, names = numbered(raw["user"])
    text, texts = numbered(raw["query"])
    times = pc.cast(raw["time"], pa.int64()).to_numpy()
    thread = separate(user, times, text, params.measure, texts=texts.to_pylist())
    order = np.lexsort((times, thread))
    return pa.table(
        {
            "thread": thread[order],
            "user": names.take(pa.array(user[order])),
            "time": raw["time"].take(pa.array(order)),
            "position": repeats(thread[order]),
            "query": texts.take(pa.array(text[order])),
        }
    )


def clusters_table(threads: pa.Table, params: ReleaseParams) -> pa.Table:
    """Sections 5.2 and 5.3: threads to keywords, items and cluster keys."""
    thread = threads["thread"].to_numpy()
    user, names = numbered(threads["user"])
    text, texts = numbered(threads["query"])
    return keyed(threads_of_rows(thread, user, text, texts.to_pylist(), names.to_pylist(), params))


def basket_clusters_table(raw: pa.Table) -> pa.Table:
    """Baskets, (record, item, user), to the same table: each is a thread of one query."""
    record, item, user = (raw[name].to_pylist() for name in ("record", "item", "user"))
    return keyed(basket_threads(Baskets(record, item, user)))


def keyed(threads: Threads) -> pa.Table:
    """Threads as a table, with their items by name and their cluster keys."""
    spelled = pa.array(threads.keywords.vocabulary, pa.string())
    _, first = np.unique(threads.keywords.item, return_index=True)
    named = spelled.take(pa.array(first))
    records, typed = threads.records, threads.typed
    n = len(records)
    keys = cluster_keys(records, word_hashes(named.to_pylist()), ROUNDS)
    users = pa.array(threads.users, pa.string())
    return pa.table(
        {
            "thread": np.arange(n),
            "user": users.take(pa.array(records.users)),
            "name": pa.array(threads.names, pa.string()),
            "words": _lists(typed.threads[typed.rows], n, spelled.take(pa.array(typed.words))),
            "lengths": _lists(typed.threads, n, pa.array(np.diff(typed.offsets), pa.int32())),
            "items": _lists(records.rows, n, named.take(pa.array(records.items))),
            "keys": _lists(np.repeat(np.arange(n), keys.shape[1]), n, pa.array(keys.ravel())),
        }
    )


def threads_of(clusters: pa.Table, params: ReleaseParams) -> Threads:
    """The core's threads, from the table that keeps them."""
    user, users = numbered(clusters["user"])
    words, vocabulary = numbered(pc.list_flatten(clusters["words"]))
    lengths = pc.list_flatten(clusters["lengths"]).to_numpy().astype(np.int64)
    queries = pc.list_value_length(clusters["lengths"]).to_numpy()
    typed = Queries(words, bounds_of(lengths), np.repeat(np.arange(len(clusters)), queries))
    return threads_from(
        typed,
        vocabulary.to_pylist(),
        user,
        users.to_pylist(),
        names=clusters["name"].to_pylist(),
        identity=params.identity,
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anonymization:
    """What one step makes: threads to publish, the private ledger, what it cost, and remarks."""

    threads: pa.Table
    ledger: pa.Table
    cost: pa.Table
    remarks: tuple[str, ...]


def anonymize_clusters(clusters: pa.Table, params: ReleaseParams) -> Anonymization:
    """Sections 4 and 5.4: group the threads and write the centers back.

    The same rows as the core's `release_of`, without an object for each.
    """
    threads = threads_of(clusters, params)
    result = group_threads(threads, params)
    edited, cost = edited_threads(threads, result, params)
    ids = published_ids(threads, result, params)
    names = pa.array(ids.values(), pa.string())
    by_name = pc.sort_indices(names).to_numpy()
    # Threads in the order of their ids, which tells nothing of users or times.
    line = np.fromiter(ids, np.int64, len(ids))[by_name]
    ordered = names.take(pa.array(by_name))
    place = np.full(len(threads.records), -1)
    place[line] = np.arange(len(line))
    return Anonymization(
        threads=_published(edited, place, ordered, result.labels, threads, params),
        ledger=pa.table(
            {
                "thread_id": ordered,
                "thread": line,
                "user": clusters["user"].combine_chunks().take(pa.array(line)),
            }
        ),
        cost=cost_table([cost], params),
        remarks=(*result.warnings, *result.notes),
    )


def _published(  # noqa: PLR0913, PLR0917 - columns, and how to lay them out
    edited: Queries,
    place: Ints,
    ids: pa.Array,
    labels: Ints,
    threads: Threads,
    params: ReleaseParams,
) -> pa.Table:
    """Rows in the order of the ids: a query each, or the keywords of a thread."""
    spelled = pa.array(threads.keywords.vocabulary, pa.string())
    queries = edited.take(np.argsort(place[edited.threads], kind="stable"))
    of, rows = place[queries.threads], queries.rows
    if params.format == "sets":
        width = max(len(spelled), 1)
        # Numbers of keywords are in the order of the keywords: sorted cells are sorted sets.
        of, words = np.divmod(distinct_numbers(of[rows] * width + queries.words), width)
        lists = _lists(of, len(ids), spelled.take(pa.array(words)))
        holder, own = np.arange(len(ids)), {"keywords": lists}
    else:
        lists = _lists(rows, len(of), spelled.take(pa.array(queries.words)))
        holder, own = of, {"position": repeats(of), "query": pc.binary_join(lists, " ")}
    group = np.empty(len(ids), np.int64)
    group[place[place >= 0]] = labels[place >= 0]
    return pa.table({"thread_id": ids.take(pa.array(holder)), "group": group[holder], **own})


def cost_table(costs: Iterable[ReleaseCost], params: ReleaseParams) -> pa.Table:
    """One row for each round, then one for the whole, of each k."""
    rows = [
        {"k": cost.k, "method": params.method, **row} for cost in costs for row in _cost_rows(cost)
    ]
    return pa.Table.from_pylist(rows)


def _cost_rows(cost: ReleaseCost) -> Iterator[dict[str, str | int | float]]:
    certificate = cost.certificate
    for name, flips in [
        *((round_.name, round_.cost) for round_ in cost.rounds),
        (TOTAL, certificate.cost),
    ]:
        yield {
            "round": name,
            "threads": cost.threads,
            "keywords": cost.keywords,
            **_flips(flips),
            "respellings": cost.respellings,
            "lower_bound": certificate.lower_bound,
            "factor": replace(certificate, cost=flips).factor,
            "retained": 1 - flips.total / max(cost.keywords, 1),
        }


def _flips(cost: Cost) -> dict[str, int]:
    return {
        "additions": cost.additions,
        "deletions": cost.deletions,
        "withdrawals": cost.withdrawals,
    }


def distinct(column: pa.ChunkedArray) -> int:
    """How many different values there are."""
    count: int = pc.count_distinct(column).as_py()
    return count


def cluster_sizes(table: pa.Table, p: int) -> Ints:
    """Threads in each cluster of the round with p Min-Hashes."""
    keys = pc.list_element(table["keys"], ROUNDS.index(p)).to_numpy()
    return np.unique(keys, return_counts=True)[1]


def smallest_group(threads: pa.Table, ledger: pa.Table) -> int:
    """Users of the group that has fewest."""
    groups = threads.select(["thread_id", "group"]).group_by(["thread_id", "group"]).aggregate([])
    users = (
        groups.join(ledger, "thread_id").group_by("group").aggregate([("user", "count_distinct")])
    )
    return pc.min(users["user_count_distinct"]).as_py() or 0


def numbered(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """Number the values of a text column in their order, and list them; one object for each."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    # Bytes of UTF-8 sort as Python sorts text, so numbers are those of a sorted vocabulary.
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order))


def _lists(holder: Ints, n: int, values: pa.Array) -> pa.Array:
    """A list for each of n threads; `holder` has the thread of each value, in order."""
    offsets = bounds_of(np.bincount(holder, minlength=n))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
