"""The demo log of the paper's shape: what it is like, and the paper's figure of costs."""

from collections.abc import Iterator

import numpy as np

from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.minhash import word_hashes
from setanon_core.model.inputs import Log
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_dagster.demo.log import demo_rows

Row = dict[str, object]

ROUNDS = (4, 3, 2, 1)
KS = (2, 3, 5, 10, 20)


def demo_threads(queries: int, seed: int) -> Threads:
    """The threads of the log, made in memory."""
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for chunk in demo_rows(max(queries * 82 // 412, 1), queries, seed):
        for column, more in zip(columns, chunk, strict=True):
            column.extend(more)
    users, times, texts = columns
    return threads_of_log(Log(users, np.array(times, "datetime64[s]"), texts), ReleaseParams(3))


def shape(queries: int, threads: Threads) -> Row:
    """The numbers that the paper tells of its log, and more."""
    records = threads.records
    found: Row = {
        "users": len(threads.users),
        "queries": queries,
        "threads": len(records),
        "keywords a thread": round(float(records.sizes.mean()), 3),
    }
    keys = cluster_keys(records, word_hashes(threads.keywords.vocabulary), ROUNDS)
    for column, p in enumerate(ROUNDS):
        _, sizes = np.unique(keys[:, column], return_counts=True)
        found |= {f"clusters, p = {p}": len(sizes), f"largest, p = {p}": int(sizes.max())}
    return found


def by_k(threads: Threads) -> Iterator[Row]:
    """Section 5.3: cost by k, and the share of additions."""
    params = ReleaseParams(2, "paper", p=2, min_owners=0, secret=b"bench")
    for cost in sweep_threads(threads, params, KS):
        flips = cost.certificate.cost
        yield {
            "k": cost.k,
            "cost / keywords": round(flips.total / cost.keywords, 3),
            "additions, % of cost": round(100 * flips.additions / max(flips.total, 1), 2),
        }
