"""Cost, retained items and time of grouping methods on the same records; all are verified."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from markdown_table import Row
from measure import seconds

from setanon_core import Cost, Params, Records, SetanonError, verify
from setanon_core.columns.arrays import Ints
from setanon_core.columns.sets import Sets
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.keywords.clusters import cluster_keys, number_clusters
from setanon_core.keywords.minhash import word_hashes
from setanon_core.model.groups import WITHDRAWN
from setanon_core.pipeline.group_records import anonymize_records

Method = Callable[[Records, int], tuple[Ints, Sets, Cost, int | None]]
"""Returns labels, centers, cost, and a lower bound if the method has one."""

P_VALUES = (2, 3, 4)


def compare(name: str, records: Records, k: int) -> list[Row]:
    """Each method in turn; the factor is the cost divided by the lower bound found by `best`.

    All run with `min_owners=0`, as the others have no such parameter; `best` with its defaults is
    last, with its own bound.
    """
    rows, bound, best_seconds = [], None, None
    for method, work in METHODS.items():
        row: Row = {"data": name, "k": k, "records": len(records), "method": method}
        try:
            (labels, centers, cost, method_bound), duration = seconds(
                lambda work=work: work(records, k)
            )
        except (ArithmeticError, LookupError, MemoryError, SetanonError, ValueError) as error:
            rows.append(row | {"failed": type(error).__name__})
            continue
        bound = bound if method_bound is None else method_bound
        best_seconds = duration if best_seconds is None else best_seconds
        rows.append(row | _result_row(records, k, labels, centers, cost, bound))
        rows[-1] |= {"seconds": round(duration, 3), "x best": round(duration / best_seconds, 3)}
    return rows


def _result_row(  # noqa: PLR0913, PLR0917 - a result, and its parameters
    records: Records, k: int, labels: Ints, centers: Sets, cost: Cost, bound: int | None
) -> Row:
    bounds = centers.offsets.tolist()
    items = centers.items.tolist()
    sets = [frozenset(items[low:high]) for low, high in pairwise(bounds)]
    published = [None if label == WITHDRAWN else sets[label] for label in labels.tolist()]
    verdict = verify(published, k, users=records.users.tolist())
    return {
        "cost %": round(100 * cost.total / len(records.items), 2),
        "retained": round(1 - cost.total / len(records.items), 3),
        "additions": cost.additions,
        "deletions": cost.deletions,
        "withdrawn": cost.withdrawals,
        "groups": verdict.groups,
        "factor": round(cost.total / bound, 3) if bound else "",
        "verified": verdict.ok,
    }


def library(
    records: Records, params: Params, clusters: Ints | None = None
) -> tuple[Ints, Sets, Cost, int]:
    """The grouping of the library."""
    result = anonymize_records(records, params, clusters)
    return result.labels, result.centers, result.cost, result.certificate.lower_bound


def best(records: Records, k: int) -> tuple[Ints, Sets, Cost, int]:
    """`best` without a minimum number of owners."""
    return library(records, Params(k, min_owners=0))


def best_with_defaults(records: Records, k: int) -> tuple[Ints, Sets, Cost, int]:
    """`best` with k owners of every item, which raises the lower bound too."""
    return library(records, Params(k))


def paper(p: int) -> Method:
    """The paper: clusters by p Min-Hashes, then Park and Shim's cover with Algorithm 1 in each."""

    def method(records: Records, k: int) -> tuple[Ints, Sets, Cost, None]:
        names = records.vocabulary or range(records.width)
        keys = cluster_keys(records, word_hashes(map(str, names)), (p,))[:, 0]
        return *library(records, Params(k, "paper", min_owners=0), number_clusters(keys))[:3], None

    return method


def majority(group: Callable[[Records, int], Ints]) -> Method:
    """Groups of another function, with the majority of each as its center."""

    def method(records: Records, k: int) -> tuple[Ints, Sets, Cost, None]:
        labels, centers = flip(records, group(records, k))
        return labels, centers, cost_of(records, labels, centers), None

    return method


def duplicates(records: Records, k: int) -> Ints:
    """Publish the sets that k users share unchanged; withdraw all others."""
    ranks = records.ranks
    pairs = np.unique(np.column_stack((ranks, records.users)), axis=0)
    users = np.bincount(pairs[:, 0], minlength=int(ranks.max(initial=0)) + 1)
    return np.where(users[ranks] >= k, ranks, WITHDRAWN)


def chunks(records: Records, k: int) -> Ints:
    """Sort the sets by their most frequent items; start a new group after k users."""
    counts = np.bincount(records.items, minlength=records.width)
    rank = np.argsort(np.argsort(-counts, kind="stable"))
    bounds, items = records.offsets.tolist(), rank[records.items].tolist()
    keys = [sorted(items[low:high]) for low, high in pairwise(bounds)]
    users, labels, number = records.users.tolist(), np.zeros(len(records), np.int64), 0
    group_users: set[int] = set()
    for position in sorted(range(len(keys)), key=keys.__getitem__):
        if len(group_users) >= k:
            number, group_users = number + 1, set()
        labels[position] = number
        group_users.add(users[position])
    if len(group_users) < k:
        # The last group is too small: merge it with the one before, if there is one.
        labels[labels == number] = number - 1 if number else WITHDRAWN
    return labels


def mondrian(records: Records, k: int) -> Ints:
    """Mondrian, with items as attributes."""
    from setanon_core.grouping.starts.halving import halving

    return halving(records, Params(k, min_owners=0)).labels


def _methods() -> Iterator[tuple[str, Method]]:
    yield "best, min_owners = 0", best
    for p in P_VALUES:
        yield f"paper, p = {p}", paper(p)
    yield "exact duplicates only", majority(duplicates)
    yield "frequency sort, chunks of k, majority", majority(chunks)
    yield "Mondrian on items, majority", majority(mondrian)
    yield "best", best_with_defaults


METHODS = dict(_methods())
