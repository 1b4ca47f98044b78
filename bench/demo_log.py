"""The demo log in the shape of the paper's log: its statistics, and the paper's figure of costs."""

from collections.abc import Iterator

import numpy as np
from markdown_table import Row

from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.minhash import word_hashes
from setanon_core.model.inputs import Log
from setanon_core.model.queries import Threads
from setanon_core.params import ReleaseParams
from setanon_core.pipeline.group_threads import sweep_threads
from setanon_core.pipeline.log import threads_of_log
from setanon_dagster.demo.log import demo_rows

P_VALUES = (4, 3, 2, 1)
K_VALUES = (2, 3, 5, 10, 20)


def demo_threads(queries: int, seed: int) -> Threads:
    """The threads of the demo log, generated in memory."""
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    for chunk in demo_rows(max(queries * 82 // 412, 1), queries, seed):
        for column, values in zip(columns, chunk, strict=True):
            column.extend(values)
    users, times, texts = columns
    return threads_of_log(Log(users, np.array(times, "datetime64[s]"), texts), ReleaseParams(3))


def statistics(queries: int, threads: Threads) -> Row:
    """The statistics that the paper gives for its log, and more."""
    records = threads.records
    row: Row = {
        "users": len(threads.users),
        "queries": queries,
        "threads": len(records),
        "keywords per thread": round(float(records.sizes.mean()), 3),
    }
    keys = cluster_keys(records, word_hashes(threads.keywords.vocabulary), P_VALUES)
    for column, p in enumerate(P_VALUES):
        _, sizes = np.unique(keys[:, column], return_counts=True)
        row |= {f"clusters, p = {p}": len(sizes), f"largest, p = {p}": int(sizes.max())}
    return row


def cost_by_k(threads: Threads) -> Iterator[Row]:
    """Section 5.3: the cost for each k, and the share of additions."""
    params = ReleaseParams(2, "paper", p=2, min_owners=0, secret=b"bench")
    for point in sweep_threads(threads, params, K_VALUES):
        cost = point.certificate.cost
        yield {
            "k": point.k,
            "cost / keywords": round(cost.total / point.keywords, 3),
            "additions, % of cost": round(100 * cost.additions / max(cost.total, 1), 2),
        }
