"""The afternoon's script by somebody who knows better: no index, but keys in a dictionary.

Clusters are those of p concatenated Min-Hashes, as the paper has them: p permutations are enough,
and a dictionary finds who shares a key. Words are kept, and only recent queries are compared.

python bench/dictionary.py LOG OUT [--k K]
"""

from collections import defaultdict
from functools import cache, partial

from datasketch import MinHash
from naive import ABSOLUTE, RELATIVE, WORDS, Published, centered, run, threads_of
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
    kept = [{word for word in thread if len(owners[word]) >= k} for thread in threads]
    clusters = defaultdict(list)
    for number, thread in enumerate(kept):
        if thread:
            clusters[key_of(thread)].append(number)
    return centered(clusters.values(), kept, users, k)


if __name__ == "__main__":
    run(partial(threads_of, similar=similar, window=WINDOW), anonymized)
