"""Group the threads of a log, for one k or for several.

Paper:      sections 5.2 and 5.3; `sweep_threads` gives the costs of the figure in section 5.3.
Guarantee:  that of `anonymize_records`.
Complexity: that of the grouping, once per k; clusters are computed once.
Deviation:  `method="best"` groups all threads at once, without LSH: itemsets find the groups that
            equal keys would have found, and more; more than 1.25 million threads are grouped place
            by place: see `group_in_places`. `method="paper"` groups within clusters of p
            Min-Hashes of complete threads and withdraws clusters of fewer than k users; items that
            Lemma 0 or `min_owners` rules out are removed before the grouping.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from setanon_core.attributes.agree import agree_on_attributes
from setanon_core.columns.arrays import Ints, Keys
from setanon_core.columns.sets import Sets
from setanon_core.keywords.clusters import cluster_keys, number_clusters
from setanon_core.keywords.identity import item_names
from setanon_core.keywords.minhash import word_hashes
from setanon_core.keywords.spelling import common_spellings
from setanon_core.model.groups import Anonymized
from setanon_core.model.publication import ReleaseCost
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_records import anonymize_records


def group_threads(threads: Threads, params: ReleaseParams, keys: Keys | None = None) -> Anonymized:
    """Group all threads or, with `method="paper"`, those of each cluster.

    `keys` are the stored cluster keys of the threads for `params.p`; None: they are computed.
    """
    if keys is None or params.method == "best":
        return _group(threads, params, _clusters(threads, params))
    return _group(threads, params, number_clusters(keys))


def sweep_threads(
    threads: Threads, params: ReleaseParams, ks: Iterable[int]
) -> Iterator[ReleaseCost]:
    """The cost of a release for each k, one after the other."""
    clusters = _clusters(threads, params)
    for k in ks:
        params_of_k = replace(params, k=k)
        result = _group(threads, params_of_k, clusters)
        _, respellings = common_spellings(
            threads.typed,
            threads.keywords,
            result.labels,
            item_centers(result),
            params_of_k.required_owners,
        )
        yield release_cost(threads, result, respellings)


def item_centers(result: Anonymized) -> Sets:
    """The centers with the item numbers of the log instead of those of the result."""
    items = np.asarray(result.vocabulary, np.int64)[result.centers.items]
    return Sets(items, result.centers.offsets)


def release_cost(threads: Threads, result: Anonymized, respellings: int) -> ReleaseCost:
    """The cost of publishing the threads in these groups."""
    records = threads.records
    return cost_of_release(len(records), len(records.items), result, respellings)


def cost_of_release(
    threads: int, keywords: int, result: Anonymized, respellings: int
) -> ReleaseCost:
    """The cost of publishing so many threads, with so many keywords, in these groups."""
    return ReleaseCost(
        k=result.params.k,
        threads=threads,
        keywords=keywords,
        respellings=respellings,
        certificate=result.certificate,
        rounds=result.rounds,
        attributes=result.attribute_costs,
    )


def _clusters(threads: Threads, params: ReleaseParams) -> Ints | None:
    """The cluster number of each thread, or None if the method has no clusters."""
    if params.method == "best":
        return None
    keywords = threads.keywords
    _, first = np.unique(keywords.item, return_index=True)
    names, numbers = item_names(keywords.vocabulary, params.identity)
    hashes = word_hashes(names[number] for number in numbers[first].tolist())
    return number_clusters(cluster_keys(threads.records, hashes, (params.p,))[:, 0])


def _group(threads: Threads, params: ReleaseParams, clusters: Ints | None) -> Anonymized:
    result = anonymize_records(threads.records, params, clusters, threads.keywords.item_owners)
    if threads.attributes is None:
        return result
    return agree_on_attributes(result, threads.attributes, threads.records.users)
