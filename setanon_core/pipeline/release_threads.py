"""From threads to a release: clusters, groups, spelling, edits, ids, and a last look.

Paper:      sections 5.2 to 5.4; `sweep` is the figure of costs in section 5.3.
Guarantee:  the keyword set of every published thread is published for threads of k users, and
            was checked on the texts that are returned.
Complexity: that of the stages; everything is held in memory.
Deviation:  `method="best"` groups all threads at once, without LSH: itemsets find what keys would
            have put together, and more. `method="paper"` groups within clusters of p Min-Hashes
            of whole threads and withdraws clusters of fewer than k users; what Lemma 0 or
            `min_owners` condemns has left the threads before they are grouped.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, concat_ranges, earlier_occurrences, offsets_of
from setanon_core.columns.hashing import mix64
from setanon_core.columns.sets import Sets
from setanon_core.edit_batches import EditTargets, edit_in_batches
from setanon_core.keywords.clusters import cluster_keys, number_clusters
from setanon_core.keywords.encode_threads import encode_threads
from setanon_core.keywords.items import items_of
from setanon_core.keywords.minhash import word_hashes
from setanon_core.keywords.spelling import common_spellings
from setanon_core.keywords.thread_batches import thread_batches
from setanon_core.keywords.tokenize import tokenize_all
from setanon_core.model.groups import WITHDRAWN, Anonymized
from setanon_core.model.publication import Ledger, Release, ReleaseCost, ThreadIds
from setanon_core.model.queries import Queries, Threads
from setanon_core.params import Identity, ReleaseParams
from setanon_core.pipeline.anonymize import anonymize_records
from setanon_core.pipeline.release import (
    format_release,
    id_order,
    release_key,
    require_anonymous,
    require_distinct_texts,
    thread_ids,
    verify_release,
)

KS: Final = range(2, 21)
"""Where the cost is swept unless other k are asked for."""


def threads_of_rows(  # noqa: PLR0913, PLR0917 - the columns of a log that is cut into threads
    thread: Ints,
    user: Ints,
    text: Ints,
    texts: Sequence[str],
    users: Sequence[Hashable],
    params: ReleaseParams,
) -> Threads:
    """Section 5.3: keywords and items of queries, which stand in the order of their threads."""
    words, bounds, vocabulary = tokenize_all(texts, params.tokenizer)
    sizes = np.diff(bounds)[text]
    typed = Queries(words[concat_ranges(bounds[text], sizes)], offsets_of(sizes), thread)
    owner = np.zeros(int(thread.max(initial=-1)) + 1, np.int64)
    owner[thread] = user
    return threads_from(typed, vocabulary, owner, users, identity=params.identity)


def threads_from(  # noqa: PLR0913 - the columns of a log that is cut into keywords
    typed: Queries,
    vocabulary: Sequence[str],
    owner: Ints,
    users: Sequence[Hashable],
    *,
    names: Sequence[str] | None = None,
    identity: Identity = "exact",
) -> Threads:
    """Threads whose queries are cut into keywords, all of the vocabulary in use.

    `owner` has the number of each thread's user; queries stand in the order of their threads.
    Without `names`, a thread is known by its user and its place among that user's threads.
    """
    require_distinct_texts(list(map(str, users)))
    require_distinct_texts(names or ())
    known, records = encode_threads(typed, vocabulary, items_of(vocabulary, identity), owner)
    # Records number the users anew, by their first record.
    holders = [users[user] for user in dict.fromkeys(owner.tolist())]
    return Threads(typed, known, records, holders, names)


def group_threads(threads: Threads, params: ReleaseParams) -> Anonymized:
    """Groups of all threads, or within the paper's clusters."""
    return _grouped(threads, params, _clusters(threads, params))


def sweep(threads: Threads, params: ReleaseParams, ks: Iterable[int] = KS) -> Iterator[ReleaseCost]:
    """What a release would cost for each k; clusters are made once."""
    number = _clusters(threads, params)
    for k in ks:
        asked = replace(params, k=k)
        result = _grouped(threads, asked, number)
        yield _cost(threads, result, _spelled(threads, result, asked)[1])


def edit_threads(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Queries, ReleaseCost]:
    """The queries to publish, as keyword numbers, and what they cost; refuse rare keywords."""
    literal = params.spelling == "as_typed"
    wanted = EditTargets(result.labels, _centers(result), params.required_owners, as_typed=literal)
    edited, respellings = edit_in_batches(threads.typed, threads.keywords, wanted)
    return edited, _cost(threads, result, respellings)


def assign_thread_ids(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Ints, ThreadIds]:
    """The published threads in the order of their ids, and the ids, 16 bytes each.

    They are made under a key for this release alone.
    """
    line = threads.line()
    ids = thread_ids(len(line), release_key(params, fingerprint(threads)))
    published = result.labels[line] != WITHDRAWN
    line, ids = line[published], ids[published]
    order = id_order(ids)
    return line[order], ids[order]


def fingerprint(threads: Threads) -> bytes:
    """A digest of who typed what; the order in which users or rows came does not matter."""
    # Sums of mixed numbers: of the words of a thread in any order, then of a user's threads.
    of_thread = np.empty(len(threads.records), np.uint64)
    for block in thread_batches(threads.typed, len(of_thread)):
        # From 1 on, for 0 stays 0 when it is mixed: the first keyword would not count.
        of_words = mix64(block.words.astype(np.uint64) + np.uint64(1))
        sums = np.append(np.uint64(0), np.cumsum(of_words))
        of_thread[block.first : block.stop] = np.diff(sums[block.offsets])
    nth = earlier_occurrences(threads.records.users).astype(np.uint64)
    of_user = np.zeros(len(threads.users), np.uint64)
    np.add.at(of_user, threads.records.users, mix64(of_thread ^ mix64(nth)))
    named = sorted(zip(map(str, threads.users), of_user.tolist(), strict=True))
    told = repr((named, list(threads.keywords.vocabulary), sorted(threads.names or ())))
    return blake2b(told.encode("utf-8", "surrogatepass")).digest()


def build_release(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Release, Ledger, ReleaseCost]:
    """Write the centers back, give the threads their ids; verify, or refuse."""
    edited, cost = edit_threads(threads, result, params)
    line, digests = assign_thread_ids(threads, result, params)
    ids = dict(zip(line.tolist(), (digest.tobytes().hex() for digest in digests), strict=True))
    ledger = _ledger(threads, ids)
    release = format_release(edited, threads.keywords.vocabulary, ids, params.format)
    require_anonymous(verify_release(release, ledger, params), params)
    return release, ledger, cost


def _clusters(threads: Threads, params: ReleaseParams) -> Ints | None:
    """The number of each thread's cluster, where the method has clusters."""
    if params.method == "best":
        return None
    keywords = threads.keywords
    _, first = np.unique(keywords.item, return_index=True)
    hashes = word_hashes(keywords.vocabulary[word] for word in first.tolist())
    return number_clusters(cluster_keys(threads.records, hashes, (params.p,))[:, 0])


def _grouped(threads: Threads, params: ReleaseParams, number: Ints | None) -> Anonymized:
    return anonymize_records(threads.records, params, number, threads.keywords.item_held)


def _centers(result: Anonymized) -> Sets:
    """Centers by the numbers of their items in the whole log, not in the result."""
    return Sets(
        np.asarray(result.vocabulary, np.int64)[result.centers.items], result.centers.offsets
    )


def _spelled(threads: Threads, result: Anonymized, params: ReleaseParams) -> tuple[Ints, int]:
    return common_spellings(
        threads.typed, threads.keywords, result.labels, _centers(result), params.required_owners
    )


def _cost(threads: Threads, result: Anonymized, respellings: int) -> ReleaseCost:
    return ReleaseCost(
        k=result.params.k,
        threads=len(threads.records),
        keywords=len(threads.records.items),
        respellings=respellings,
        certificate=result.certificate,
        rounds=result.rounds,
    )


def _ledger(threads: Threads, ids: dict[int, str]) -> Ledger:
    users = threads.records.users.tolist()
    return Ledger(
        tuple(ids.values()), tuple(ids), tuple(threads.users[users[thread]] for thread in ids)
    )
