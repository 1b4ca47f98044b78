"""Thread ids, derived from a key that is specific to one release.

A thread id reveals neither the user nor the position of the thread in the input. The ledger, which
is private, maps ids to users.
"""

from dataclasses import fields
from hashlib import blake2b, shake_256
from typing import Final

import numpy as np

from setanon_core.columns.arrays import Ints, earlier_occurrences, mix64, run_starts
from setanon_core.keywords.encode_threads import thread_batches
from setanon_core.model.groups import WITHDRAWN, Anonymized
from setanon_core.model.publication import ThreadIds
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams

NOT_HASHED: Final = frozenset(
    {"format", "measure", "secret", "spelling", "tokenizer", "user_names"}
)
"""Parameters that are not hashed: they do not change the groups, have no text form, or change the
users, which are hashed themselves."""


def assign_thread_ids(
    threads: Threads, result: Anonymized, params: ReleaseParams
) -> tuple[Ints, ThreadIds]:
    """The published threads sorted by id, and their ids of 16 bytes."""
    order = threads.canonical_order()
    ids = thread_ids(len(order), release_key(params, fingerprint(threads)))
    published = result.labels[order] != WITHDRAWN
    order, ids = order[published], ids[published]
    by_id = id_order(ids)
    return order[by_id], ids[by_id]


def release_key(params: ReleaseParams, fingerprint: bytes) -> bytes:
    """The key of one release's ids: it changes with the data and with the parameters.

    If the secret were the key, a thread would have the same id in every release, so that releases
    could be linked. Releases that differ only in format, spelling or the order of the words in
    queries do have the same ids; the gate publishes others.
    """
    hashed = [
        (field.name, getattr(params, field.name))
        for field in fields(params)
        if field.name not in NOT_HASHED and (field.name != "attributes" or params.attributes)
    ]
    return blake2b(repr(hashed).encode() + fingerprint, key=params.secret, digest_size=32).digest()


def thread_ids(n: int, key: bytes) -> ThreadIds:
    """`n` ids of 16 bytes: consecutive parts of one extendable-output hash of the key."""
    return np.frombuffer(shake_256(key).digest(16 * n), np.uint8).reshape(-1, 16)


def id_order(ids: ThreadIds) -> Ints:
    """The order of the ids by their hexadecimal digits."""
    # Two big-endian 64-bit numbers sort as their bytes do.
    first, second = ids.view(">u8").T.astype(np.uint64)
    order = np.argsort(first)
    # The first halves of random ids are almost certainly distinct.
    return order if run_starts(first[order]).all() else np.lexsort((second, first))


def fingerprint(threads: Threads) -> bytes:
    """A digest of users, keywords and attributes; the order of users or rows does not matter."""
    # Sums of mixed numbers: over the words of a thread in any order, then over a user's threads.
    thread_digests = np.empty(len(threads.records), np.uint64)
    for batch in thread_batches(threads.typed, len(thread_digests)):
        # mix64(0) is 0: without the 1, the first keyword would not count.
        word_digests = mix64(batch.words.astype(np.uint64) + np.uint64(1))
        sums = np.append(np.uint64(0), np.cumsum(word_digests))
        thread_digests[batch.first : batch.stop] = np.diff(sums[batch.offsets])
    if threads.attributes is not None:
        # Equal ids beside other values would link the values of a thread in two releases.
        values = threads.attributes.sets
        value_digests = mix64(~values.items.astype(np.uint64))
        np.add.at(thread_digests, values.rows, value_digests)
    nth = earlier_occurrences(threads.records.users).astype(np.uint64)
    user_digests = np.zeros(len(threads.users), np.uint64)
    np.add.at(user_digests, threads.records.users, mix64(thread_digests ^ mix64(nth)))
    by_user = sorted(zip(map(str, threads.users), user_digests.tolist(), strict=True))
    content: tuple[object, ...] = (
        by_user,
        list(threads.keywords.vocabulary),
        sorted(threads.names or ()),
    )
    if threads.attributes is not None:
        content += (list(threads.attributes.texts), threads.attributes.attribute.tolist())
    text = repr(content)
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()
