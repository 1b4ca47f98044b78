"""Baseline script: pandas, Python sets, and MinHash and MinHashLSH of datasketch.

It gives the guarantee of a release: every published set is that of k users, and k users typed every
published keyword. Threads are separated as in the paper, but without the rounds that collapse them,
which saves time; the similarity is that of the library, in plain Python. Each cluster is one group.

python bench/script_lsh_index.py LOG OUT [--k K]
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import pandas as pd
from datasketch import MinHash, MinHashLSH
from rapidfuzz.distance import Levenshtein

from setanon_core import verify

RELATIVE_DISTANCE, MAX_DISTANCE, WORD_DIFFERENCE = 0.35, 8, 0.7
PERMUTATIONS, THRESHOLD = 128, 0.5

PublishedSets = list[frozenset[str] | None]


def similar(a: str, b: str) -> bool:
    """Whether two queries differ in few letters or in few words."""
    words_a, words_b = set(a.split()), set(b.split())
    shared = sum(map(len, words_a & words_b))
    larger = max(sum(map(len, words_a)), sum(map(len, words_b)))
    if shared and larger - shared <= WORD_DIFFERENCE * larger:
        return True
    limit = min(RELATIVE_DISTANCE * max(len(a), len(b)), MAX_DISTANCE)
    return Levenshtein.distance(a, b, score_cutoff=MAX_DISTANCE) <= limit


def separate_threads(
    queries: Iterable[str],
    similar: Callable[[str, str], bool] = similar,
    window: int | None = None,
) -> list[set[str]]:
    """Section 5.1: a query joins the thread of the most recent similar one, or starts a new one."""
    threads: list[set[str]] = []
    thread_of: dict[str, int] = {}
    for query in queries:
        if query in thread_of:
            continue
        for earlier in islice(reversed(thread_of), window):
            if similar(query, earlier):
                thread_of[query] = thread_of[earlier]
                break
        else:
            thread_of[query] = len(threads)
            threads.append(set())
        threads[thread_of[query]].update(query.split())
    return threads


threads_of = separate_threads


def strip_rare_words(threads: list[set[str]], users: list[str], k: int) -> list[set[str]]:
    """Each thread without the words that fewer than k users typed."""
    rows = pd.DataFrame({"user": users, "word": [list(thread) for thread in threads]})
    owners = rows.explode("word").groupby("word")["user"].nunique()
    common = set(owners.index[owners >= k])
    return [thread & common for thread in threads]


def signature_of(thread: set[str]) -> MinHash:
    """The signature of a thread, computed as in datasketch's documentation."""
    signature = MinHash(num_perm=PERMUTATIONS)
    for word in thread:
        signature.update(word.encode("utf8"))
    return signature


def clusters_of(threads: list[set[str]]) -> Iterator[list[int]]:
    """Section 5.2: each thread in turn with those of its neighbours that have no cluster yet."""
    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    signatures = {number: signature_of(thread) for number, thread in enumerate(threads) if thread}
    for number, signature in signatures.items():
        index.insert(number, signature)
    unassigned = set(signatures)
    for number, signature in signatures.items():
        if number in unassigned:
            members = unassigned.intersection(index.query(signature))
            unassigned -= members
            yield sorted(members)


def anonymize(threads: list[set[str]], users: list[str], k: int) -> PublishedSets:
    """The published set of each thread, or None if it is withdrawn."""
    stripped = strip_rare_words(threads, users, k)
    return publish_centers(clusters_of(stripped), stripped, users, k)


def publish_centers(
    clusters: Iterable[list[int]], threads: list[set[str]], users: list[str], k: int
) -> PublishedSets:
    """Section 4: publish the majority center of each cluster that has k users."""
    published: PublishedSets = [None] * len(threads)
    for members in clusters:
        if len({users[number] for number in members}) < k:
            continue
        counts = Counter(word for number in members for word in threads[number])
        center = frozenset(word for word, count in counts.items() if 2 * count > len(members))
        for number in members:
            published[number] = center or None
    return published


def run(
    threads_of: Callable[[Iterable[str]], list[set[str]]],
    anonymize: Callable[[list[set[str]], list[str], int], PublishedSets],
) -> None:
    """Read, separate, cluster, publish and verify a log; print its cost as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("log", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--k", type=int, default=3)
    args = parser.parse_args()
    log = pd.read_csv(args.log, sep="\t", quoting=3, dtype=str, keep_default_na=False)
    log["query"] = log["query"].str.lower()
    threads: list[set[str]] = []
    users: list[str] = []
    for user, queries in log.sort_values(["user", "time"], kind="stable").groupby("user")["query"]:
        threads_of_user = threads_of(queries)
        threads += threads_of_user
        users += [str(user)] * len(threads_of_user)
    published = anonymize(threads, users, args.k)
    verdict = verify(published, args.k, users=users)
    rows = [" ".join(sorted(items)) for items in published if items]
    # Sorted: the order of the users would identify them.
    pd.DataFrame({"keywords": sorted(rows)}).to_parquet(args.out)
    keywords = sum(map(len, threads))
    pairs = list(zip(threads, published, strict=True))
    cost = sum(len(thread ^ (items or frozenset())) for thread, items in pairs)
    counts = {
        "threads": len(threads),
        "published": len(rows),
        "retained": 1 - cost / keywords,
        "verified": verdict.ok,
    }
    print(json.dumps(counts))


if __name__ == "__main__":
    run(threads_of, anonymize)
