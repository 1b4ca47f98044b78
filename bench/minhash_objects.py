"""Time of Min-Hash signatures by columns, and by one datasketch object per thread.

python bench/minhash_objects.py
"""

from itertools import pairwise

from datasketch import MinHash
from markdown_table import Row, table
from measure import seconds
from synthetic_records import log_threads

from setanon_core.keywords.clusters import ROUNDS, cluster_keys
from setanon_core.keywords.minhash import SCHEME, permuted_hashes, signatures, word_hashes

P = max(ROUNDS)


def compare(n: int = 165_000, sample: int = 5_000) -> list[Row]:
    """As many threads as in the paper; objects are slow, and measured on a sample."""
    records = log_threads(n)
    words = [f"keyword{number}" for number in range(records.width)]
    hashes, hashing = seconds(lambda: word_hashes(words))
    _, minima = seconds(lambda: signatures(records, permuted_hashes(hashes, range(P))), 5)
    _, keys = seconds(lambda: cluster_keys(records, hashes), 5)
    bounds = records.offsets[: sample + 1].tolist()
    encoded = [word.encode() for word in words]
    sets = [
        [encoded[item] for item in records.items[low:high].tolist()]
        for low, high in pairwise(bounds)
    ]

    def create_objects() -> None:
        for members in sets:
            MinHash(num_perm=P, seed=1, scheme=SCHEME).update_batch(members)

    object_seconds = seconds(create_objects)[1] / sample * n
    return [
        {
            "threads": n,
            "p": P,
            "step": "one MinHash object per thread",
            "seconds": object_seconds,
        },
        {"step": "hashing the vocabulary", "seconds": hashing},
        {"step": "minima per thread", "seconds": minima},
        {"step": "objects / columns", "seconds": object_seconds / (hashing + minima)},
        {"step": "keys of all rounds", "seconds": keys},
    ]


if __name__ == "__main__":
    print(table(compare()))
