"""The afternoon's script by somebody who knows better: no index, but keys in a dictionary.

Clusters are those of p concatenated Min-Hashes, as the paper has them: p permutations are enough,
and a dictionary finds who shares a key. Words are kept, and only recent queries are compared.

python bench/dictionary.py LOG OUT [--k K]
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache

from datasketch import MinHash
from naive import ABSOLUTE, RELATIVE, WORDS, Published, run
from rapidfuzz.distance import Levenshtein

WINDOW = 200
P = 3


@cache
def words_of(query: str) -> frozenset[str]:
    """The keywords of a query."""
    return frozenset(query.split())


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


def key_of(thread: set[str]) -> tuple[int, ...]:
    """Section 5.2: p concatenated Min-Hashes."""
    sketch = MinHash(num_perm=P)
    sketch.update_batch([word.encode() for word in thread])
    return tuple(sketch.digest().tolist())


def anonymized(threads: list[set[str]], users: list[str], k: int) -> Published:
    """The published set of each thread, or None if it is withdrawn."""
    owners = defaultdict(set)
    for thread, user in zip(threads, users, strict=True):
        for word in thread:
            owners[word].add(user)
    clusters = defaultdict(list)
    for number, thread in enumerate(threads):
        kept = {word for word in thread if len(owners[word]) >= k}
        if kept:
            clusters[key_of(kept)].append((number, kept))
    published: Published = [None] * len(threads)
    for members in clusters.values():
        if len({users[number] for number, _ in members}) < k:
            continue
        counts = Counter(word for _, kept in members for word in kept)
        center = frozenset(word for word, count in counts.items() if 2 * count > len(members))
        for number, _ in members:
            published[number] = center or None
    return published


if __name__ == "__main__":
    run(threads_of, anonymized)
