"""What one would write in an afternoon instead: pandas, loops, a MinHash object for each thread.

It promises what a release promises: every published set is that of k users, and k users typed every
published keyword. Threads are the paper's without the rounds that collapse them, which spares it
work; the similarity is the library's, in plain calls. Each cluster is one group.

python bench/naive.py LOG OUT [--k K] [--p P]
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pandas as pd
from datasketch import MinHash
from rapidfuzz.distance import Levenshtein

from setanon_core import verify

RELATIVE, ABSOLUTE, WORDS = 0.35, 8, 0.7
WINDOW = 200


@cache
def words_of(query: str) -> frozenset[str]:
    """The keywords of a query."""
    return frozenset(query.lower().split())


@cache
def letters_of(query: str) -> int:
    """How many letters its keywords have."""
    return sum(map(len, words_of(query)))


def similar(a: str, b: str) -> bool:
    """Whether few letters differ, or few words do."""
    shared = sum(map(len, words_of(a) & words_of(b)))
    larger = max(letters_of(a), letters_of(b))
    if shared and larger - shared <= WORDS * larger:
        return True
    limit = min(RELATIVE * max(len(a), len(b)), ABSOLUTE)
    return Levenshtein.distance(a, b, score_cutoff=ABSOLUTE) <= limit


def threads_of(queries: Iterable[str]) -> list[set[str]]:
    """Section 5.1: a query joins the thread of the most recent similar one, or starts its own."""
    threads: list[set[str]] = []
    seen: dict[str, int] = {}
    for query in queries:
        if query in seen:
            continue
        recent = list(seen)[-WINDOW:]
        for earlier in reversed(recent):
            if similar(query, earlier):
                seen[query] = seen[earlier]
                break
        else:
            seen[query] = len(threads)
            threads.append(set())
        threads[seen[query]].update(words_of(query))
    return threads


def key_of(thread: set[str], p: int) -> tuple[int, ...]:
    """Section 5.2: p concatenated Min-Hashes."""
    sketch = MinHash(num_perm=p)
    sketch.update_batch([word.encode() for word in thread])
    return tuple(sketch.digest().tolist())


def anonymized(
    threads: list[set[str]], users: list[str], k: int, p: int
) -> list[frozenset[str] | None]:
    """The published set of each thread, or None if it is withdrawn."""
    owners = defaultdict(set)
    for thread, user in zip(threads, users, strict=True):
        for word in thread:
            owners[word].add(user)
    clusters = defaultdict(list)
    for number, thread in enumerate(threads):
        kept = {word for word in thread if len(owners[word]) >= k}
        if kept:
            clusters[key_of(kept, p)].append((number, kept))
    published: list[frozenset[str] | None] = [None] * len(threads)
    for members in clusters.values():
        if len({users[number] for number, _ in members}) < k:
            continue
        counts = Counter(word for _, kept in members for word in kept)
        center = frozenset(word for word, count in counts.items() if 2 * count > len(members))
        for number, _ in members:
            published[number] = center or None
    return published


def main() -> None:
    """Read, separate, cluster, publish and verify; print what it cost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--k", type=int, default=3)
    parser.add_argument("--p", type=int, default=3)
    args = parser.parse_args()
    log = pd.read_csv(args.log, sep="\t", quoting=3, dtype=str, keep_default_na=False)
    log = log.sort_values(["user", "time"], kind="stable")
    threads: list[set[str]] = []
    users: list[str] = []
    for user, queries in log.groupby("user")["query"]:
        own = threads_of(queries)
        threads += own
        users += [str(user)] * len(own)
    published = anonymized(threads, users, args.k, args.p)
    verdict = verify(published, args.k, users)
    rows = [" ".join(sorted(items)) for items in published if items]
    # In the order of the sets: that of the users would tell who they are.
    pd.DataFrame({"keywords": sorted(rows)}).to_parquet(args.out)
    keywords = sum(map(len, threads))
    pairs = list(zip(threads, published, strict=True))
    cost = sum(len(thread ^ (items or frozenset())) for thread, items in pairs)
    print(
        json.dumps(
            {
                "threads": len(threads),
                "published": len(rows),
                "retained": 1 - cost / keywords,
                "verified": verdict.ok,
            }
        )
    )


if __name__ == "__main__":
    main()
