"""Min-Hash signatures over columns beside one datasketch object for each thread."""

from itertools import pairwise

from datasketch import MinHash
from instances import threads
from measure import seconds

from setanon_core.keywords.clusters import ROUNDS, cluster_keys
from setanon_core.keywords.minhash import SCHEME, permuted_hashes, signatures, word_hashes

P = max(ROUNDS)


def compare(n: int = 165_000, sample: int = 5_000) -> list[dict[str, object]]:
    """The paper's number of threads; objects are timed on a sample, they take so long."""
    records = threads(n)
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

    def objects() -> None:
        for members in sets:
            MinHash(num_perm=P, seed=1, scheme=SCHEME).update_batch(members)

    one_by_one = seconds(objects)[1] / sample * n
    return [
        {"threads": n, "p": P, "what": "one MinHash object for each", "seconds": one_by_one},
        {"what": "hashing the vocabulary", "seconds": hashing},
        {"what": "minima over each thread", "seconds": minima},
        {"what": "objects / columns", "seconds": one_by_one / (hashing + minima)},
        {"what": "keys of all rounds", "seconds": keys},
    ]
