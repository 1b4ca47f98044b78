"""A grouping does not depend on who searched its blocks."""

import numpy as np

from setanon_core.grouping.local_search import BLOCK, local_search
from setanon_core.grouping.open_itemsets import open_itemsets
from setanon_core.params import Params
from setanon_core.records import Records
from setanon_dagster import workers as module
from setanon_dagster.workers import workers


def threads(n=6 * BLOCK):
    rng = np.random.default_rng(4)
    return Records.from_sets(
        [set((12 * rng.random(4) ** 2).astype(int).tolist()) for _ in range(n)],
        rng.integers(0, n // 2, n).tolist(),
    )


def test_processes_find_the_groups_that_one_finds(monkeypatch):
    records, params = threads(), Params(3)
    labels = open_itemsets(records, params).labels
    alone = local_search(records, labels, params)
    monkeypatch.setattr(module, "ENOUGH", 0)
    used = []
    monkeypatch.setattr(module, "lent", lambda each: used.append(each) or lent(each))

    with workers(2, len(records)):
        together = local_search(records, labels, params)

    assert len(used) == 1
    assert (alone != labels).any()
    assert np.array_equal(alone, together)


def test_few_threads_or_one_worker_start_no_process(monkeypatch):
    monkeypatch.setattr(module, "ProcessPoolExecutor", None)

    with workers(1, 10**9), workers(8, module.ENOUGH - 1):
        pass


lent = module.lent
