"""What one would write in an afternoon instead: pandas, sets, MinHash and MinHashLSH of datasketch.

It promises what a release promises: every published set is that of k users, and k users typed every
published keyword. Threads are the paper's without the rounds that collapse them, which spares it
work; the similarity is the library's, in plain calls. Each cluster is one group.

python bench/naive.py LOG OUT [--k K]
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

RELATIVE, ABSOLUTE, WORDS = 0.35, 8, 0.7
PERMUTATIONS, THRESHOLD = 128, 0.5

Published = list[frozenset[str] | None]


def similar(a: str, b: str) -> bool:
    """Whether few letters differ, or few words do."""
    ours, theirs = set(a.split()), set(b.split())
    shared = sum(map(len, ours & theirs))
    larger = max(sum(map(len, ours)), sum(map(len, theirs)))
    if shared and larger - shared <= WORDS * larger:
        return True
    limit = min(RELATIVE * max(len(a), len(b)), ABSOLUTE)
    return Levenshtein.distance(a, b, score_cutoff=ABSOLUTE) <= limit


def threads_of(
    queries: Iterable[str],
    similar: Callable[[str, str], bool] = similar,
    window: int | None = None,
) -> list[set[str]]:
    """Section 5.1: a query joins the thread of the most recent similar one, or starts its own."""
    threads: list[set[str]] = []
    seen: dict[str, int] = {}
    for query in queries:
        if query in seen:
            continue
        for earlier in islice(reversed(seen), window):
            if similar(query, earlier):
                seen[query] = seen[earlier]
                break
        else:
            seen[query] = len(threads)
            threads.append(set())
        threads[seen[query]].update(query.split())
    return threads


def typed_by(threads: list[set[str]], users: list[str], k: int) -> list[set[str]]:
    """Each thread without the words of fewer than k users."""
    rows = pd.DataFrame({"user": users, "word": [list(thread) for thread in threads]})
    owners = rows.explode("word").groupby("word")["user"].nunique()
    common = set(owners.index[owners >= k])
    return [thread & common for thread in threads]


def sketch_of(thread: set[str]) -> MinHash:
    """The signature of a thread, as datasketch's documentation makes it."""
    sketch = MinHash(num_perm=PERMUTATIONS)
    for word in thread:
        sketch.update(word.encode("utf8"))
    return sketch


def clusters_of(threads: list[set[str]]) -> Iterator[list[int]]:
    """Section 5.2: each thread in turn with its neighbours that no other one has taken."""
    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    sketches = {number: sketch_of(thread) for number, thread in enumerate(threads) if thread}
    for number, sketch in sketches.items():
        index.insert(number, sketch)
    left = set(sketches)
    for number, sketch in sketches.items():
        if number in left:
            members = left.intersection(index.query(sketch))
            left -= members
            yield sorted(members)


def anonymized(threads: list[set[str]], users: list[str], k: int) -> Published:
    """The published set of each thread, or None if it is withdrawn."""
    kept = typed_by(threads, users, k)
    return centered(clusters_of(kept), kept, users, k)


def centered(
    clusters: Iterable[list[int]], kept: list[set[str]], users: list[str], k: int
) -> Published:
    """Section 4: the majority of each cluster that has k users."""
    published: Published = [None] * len(kept)
    for members in clusters:
        if len({users[number] for number in members}) < k:
            continue
        counts = Counter(word for number in members for word in kept[number])
        center = frozenset(word for word, count in counts.items() if 2 * count > len(members))
        for number in members:
            published[number] = center or None
    return published


def run(
    threads_of: Callable[[Iterable[str]], list[set[str]]],
    anonymized: Callable[[list[set[str]], list[str], int], Published],
) -> None:
    """Read, separate, cluster, publish and verify; print what it cost."""
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
        own = threads_of(queries)
        threads += own
        users += [str(user)] * len(own)
    published = anonymized(threads, users, args.k)
    verdict = verify(published, args.k, users=users)
    rows = [" ".join(sorted(items)) for items in published if items]
    # In the order of the sets: that of the users would tell who they are.
    pd.DataFrame({"keywords": sorted(rows)}).to_parquet(args.out)
    keywords = sum(map(len, threads))
    pairs = list(zip(threads, published, strict=True))
    cost = sum(len(thread ^ (items or frozenset())) for thread, items in pairs)
    told = {
        "threads": len(threads),
        "published": len(rows),
        "retained": 1 - cost / keywords,
        "verified": verdict.ok,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    run(threads_of, anonymized)
