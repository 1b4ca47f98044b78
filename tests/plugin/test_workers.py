"""Neither a grouping nor a release depends on who did the work."""

from concurrent.futures import Future

import numpy as np

from setanon_core import edit_batches
from setanon_core.columns.records import Records
from setanon_core.grouping.improve.local_search import BLOCK, local_search
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.params import Params, ReleaseParams
from setanon_core.pipeline.log import anonymize_log
from setanon_dagster.engines import pools as module
from setanon_dagster.engines.pools import process_pool


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
    monkeypatch.setattr(module, "use_executor", lambda each: used.append(each) or lent(each))

    with process_pool(2, len(records)):
        together = local_search(records, labels, params)

    assert len(used) == 1
    assert (alone != labels).any()
    assert np.array_equal(alone, together)


def test_processes_make_the_release_that_one_makes(monkeypatch):
    rng = np.random.default_rng(6)
    words = np.array(["pine", "straw", "mulch", "bark", "leaf", "moss"])
    log = [
        (int(rng.integers(60)), t, " ".join(words[rng.choice(6, 2, replace=False)]))
        for t in range(400)
    ]
    monkeypatch.setattr(module, "ENOUGH", 0)
    monkeypatch.setattr(edit_batches, "WORDS_AT_ONCE", 50)
    params = ReleaseParams(3, secret=b"for tests only")

    alone = anonymize_log(log, params)
    with process_pool(2, len(log)):
        together = anonymize_log(log, params)

    assert len(alone[0].queries) > 100
    assert together == alone


def test_work_is_handed_out_as_it_is_needed():
    class Pool:
        def submit(self, work, *arguments):
            done = Future()
            done.set_result(work(*arguments))
            return done

    taken = []
    numbers = (taken.append(n) or n for n in range(100))
    results = module.ProcessPool(Pool(), 2).map_ordered(str, numbers)

    assert [next(results) for _ in range(3)] == ["0", "1", "2"]
    assert len(taken) <= 3 + 2 * module.AHEAD
    assert list(results) == [str(n) for n in range(3, 100)]


def test_few_threads_or_one_worker_start_no_process(monkeypatch):
    monkeypatch.setattr(module, "ProcessPoolExecutor", None)

    with process_pool(1, 10**9), process_pool(8, module.ENOUGH - 1):
        pass


lent = module.use_executor
