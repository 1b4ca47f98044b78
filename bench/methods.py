"""What ways to form groups cost, keep and take, on the same records, judged by the one verifier."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
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

Row = dict[str, object]
Way = Callable[[Records, int], tuple[Ints, Sets, Cost, int | None]]
"""Labels, centers and cost, and a lower bound if the way has one."""

PS = (2, 3, 4)


def compare(name: str, records: Records, k: int) -> list[Row]:
    """Every way in turn; the factor is the cost over the bound that `best` finds, the same for all.

    All at `min_owners=0`, since only ours know owners; `best` as it is by default comes last.
    """
    rows, bound, base = [], None, None
    for way, work in WAYS.items():
        row: Row = {"data": name, "k": k, "records": len(records), "way": way}
        try:
            (labels, centers, cost, own), took = seconds(lambda work=work: work(records, k))
        except (ArithmeticError, LookupError, MemoryError, SetanonError, ValueError) as error:
            rows.append(row | {"failed": type(error).__name__})
            continue
        bound = bound if own is None else own
        base = took if base is None else base
        rows.append(row | _told(records, k, labels, centers, cost, bound))
        rows[-1] |= {"seconds": round(took, 3), "x best": round(took / base, 3)}
    return rows


def _told(  # noqa: PLR0913, PLR0917 - a result, and what it is judged by
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


def ours(records: Records, params: Params, of: Ints | None = None) -> tuple[Ints, Sets, Cost, int]:
    """The library, in one call."""
    result = anonymize_records(records, params, of)
    return result.labels, result.centers, result.cost, result.certificate.lower_bound


def best(records: Records, k: int) -> tuple[Ints, Sets, Cost, int]:
    """Ours, where one owner of an item is enough."""
    return ours(records, Params(k, min_owners=0))


def guarded(records: Records, k: int) -> tuple[Ints, Sets, Cost, int]:
    """Ours by default: k owners of every item; its bound is higher for it."""
    return ours(records, Params(k))


def paper(p: int) -> Way:
    """The paper: clusters of p Min-Hashes, and in each Park and Shim's cover with Algorithm 1."""

    def way(records: Records, k: int) -> tuple[Ints, Sets, Cost, None]:
        names = records.vocabulary or range(records.width)
        keys = cluster_keys(records, word_hashes(map(str, names)), (p,))[:, 0]
        return *ours(records, Params(k, "paper", min_owners=0), number_clusters(keys))[:3], None

    return way


def majority(group: Callable[[Records, int], Ints]) -> Way:
    """Groups by other means, and the majority of each as its center."""

    def way(records: Records, k: int) -> tuple[Ints, Sets, Cost, None]:
        labels, centers = flip(records, group(records, k))
        return labels, centers, cost_of(records, labels, centers), None

    return way


def duplicates(records: Records, k: int) -> Ints:
    """Publish what k users have in common as it is; withdraw all else."""
    ranks = records.ranks
    pairs = np.unique(np.column_stack((ranks, records.users)), axis=0)
    users = np.bincount(pairs[:, 0], minlength=int(ranks.max(initial=0)) + 1)
    return np.where(users[ranks] >= k, ranks, WITHDRAWN)


def chunks(records: Records, k: int) -> Ints:
    """Sort by the most frequent items first; cut whenever k users are together."""
    counts = np.bincount(records.items, minlength=records.width)
    place = np.argsort(np.argsort(-counts, kind="stable"))
    bounds, items = records.offsets.tolist(), place[records.items].tolist()
    keys = [sorted(items[low:high]) for low, high in pairwise(bounds)]
    users, labels, number = records.users.tolist(), np.zeros(len(records), np.int64), 0
    together: set[int] = set()
    for position in sorted(range(len(keys)), key=keys.__getitem__):
        if len(together) >= k:
            number, together = number + 1, set()
        labels[position] = number
        together.add(users[position])
    if len(together) < k:
        # The last ones are too few: they go with those before, if there are any.
        labels[labels == number] = number - 1 if number else WITHDRAWN
    return labels


def mondrian(records: Records, k: int) -> Ints:
    """Mondrian, with items for attributes."""
    from setanon_core.grouping.starts.halving import halving

    return halving(records, Params(k, min_owners=0)).labels


def _ways() -> Iterator[tuple[str, Way]]:
    yield "best, min_owners = 0", best
    for p in PS:
        yield f"paper, p = {p}", paper(p)
    yield "exact duplicates only", majority(duplicates)
    yield "frequency sort, chunks of k, majority", majority(chunks)
    yield "Mondrian on items, majority", majority(mondrian)
    yield "best", guarded


WAYS = dict(_ways())
