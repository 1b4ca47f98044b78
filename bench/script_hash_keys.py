"""Baseline script without an LSH index: a dictionary from Min-Hash keys to clusters.

Clusters are threads with equal keys of p concatenated Min-Hashes, as in the paper: p permutations
are enough. Words of a query are cached, and a query is compared with recent queries only.

python bench/script_hash_keys.py LOG OUT [--k K]
"""

from collections import defaultdict
from functools import cache, partial

from datasketch import MinHash
from rapidfuzz.distance import Levenshtein
from script_lsh_index import (
    MAX_DISTANCE,
    RELATIVE_DISTANCE,
    WORD_DIFFERENCE,
    PublishedSets,
    publish_centers,
    run,
    separate_threads,
)

WINDOW = 200
"""Recent distinct queries that a query is compared with."""

P = 3


@cache
def words_of(query: str) -> frozenset[str]:
    """The keywords of a query."""
    return frozenset(query.split())


@cache
def letters_of(query: str) -> int:
    """The number of letters of its keywords."""
    return sum(map(len, words_of(query)))


def similar(a: str, b: str) -> bool:
    """Whether two queries differ in few letters or in few words."""
    shared = sum(map(len, words_of(a) & words_of(b)))
    larger = max(letters_of(a), letters_of(b))
    if shared and larger - shared <= WORD_DIFFERENCE * larger:
        return True
    limit = min(RELATIVE_DISTANCE * max(len(a), len(b)), MAX_DISTANCE)
    return Levenshtein.distance(a, b, score_cutoff=MAX_DISTANCE) <= limit


threads_of = partial(separate_threads, similar=similar, window=WINDOW)


def key_of(thread: set[str]) -> tuple[int, ...]:
    """Section 5.2: p concatenated Min-Hashes."""
    signature = MinHash(num_perm=P)
    signature.update_batch([word.encode() for word in thread])
    return tuple(signature.digest().tolist())


def anonymize(threads: list[set[str]], users: list[str], k: int) -> PublishedSets:
    """The published set of each thread, or None if it is withdrawn."""
    owners = defaultdict(set)
    for thread, user in zip(threads, users, strict=True):
        for word in thread:
            owners[word].add(user)
    stripped = [{word for word in thread if len(owners[word]) >= k} for thread in threads]
    clusters = defaultdict(list)
    for number, thread in enumerate(stripped):
        if thread:
            clusters[key_of(thread)].append(number)
    return publish_centers(clusters.values(), stripped, users, k)


if __name__ == "__main__":
    run(threads_of, anonymize)
