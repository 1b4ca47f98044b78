"""Bounded ordered map, and results that do not depend on the number of processes."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

from setanon_core import edits
from setanon_core.columns.records import Records
from setanon_core.grouping.improve.local_search import BLOCK, local_search
from setanon_core.grouping.starts.open_itemsets import open_itemsets
from setanon_core.params import Params
from setanon_core.pipeline.log import anonymize_log
from setanon_dagster.engines import process_pool
from setanon_dagster.engines.process_pool import PoolExecutor, map_bounded, use_processes


class SynchronousPool:
    """Runs each task when it is submitted, and records the futures."""

    def __init__(self):
        self.futures = []

    def submit(self, work, *arguments):
        future = Future()
        try:
            future.set_result(work(*arguments))
        except ValueError as error:
            future.set_exception(error)
        self.futures.append(future)
        return future


def read_numbers(taken, n=100):
    for number in range(n):
        taken.append(number)
        yield number


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_map_keeps_the_order(limit):
    with ThreadPoolExecutor(4) as pool:
        assert list(map_bounded(pool, str, range(50), limit)) == list(map(str, range(50)))
    assert list(map_bounded(None, str, range(50), limit)) == list(map(str, range(50)))


@pytest.mark.parametrize("limit", [1, 4])
def test_map_reads_at_most_the_limit_ahead(limit):
    taken = []
    results = map_bounded(SynchronousPool(), str, read_numbers(taken), limit)
    assert taken == []
    for n in range(3):
        assert next(results) == str(n)
        assert len(taken) == n + limit
    assert list(results) == [str(n) for n in range(3, 100)]


def test_map_without_a_pool_reads_one_argument_at_a_time():
    taken = []
    results = map_bounded(None, str, read_numbers(taken), 4)
    assert next(results) == "0"
    assert taken == [0]


@pytest.mark.parametrize("pool", [None, SynchronousPool()])
def test_map_raises_an_error_at_the_position_of_its_argument(pool):
    results = map_bounded(pool, int, ["7", "8", "x", "9"], 4)
    assert [next(results), next(results)] == [7, 8]
    with pytest.raises(ValueError, match="invalid literal"):
        next(results)
    assert list(results) == []


def test_closing_the_map_early_cancels_tasks_that_have_not_started():
    release, started = Event(), []

    def wait(number):
        started.append(number)
        assert number == 0 or release.wait(10)
        return number

    with ThreadPoolExecutor(1) as pool:
        results = map_bounded(pool, wait, range(100), 8)
        assert next(results) == 0
        results.close()
        release.set()
    assert set(started) <= {0, 1}


def test_executor_of_the_core_reads_a_bounded_number_of_arguments_ahead():
    taken = []
    results = PoolExecutor(SynchronousPool(), workers=2).map_ordered(str, read_numbers(taken))
    assert [next(results) for _ in range(3)] == ["0", "1", "2"]
    assert len(taken) <= 3 + 2 * process_pool.PENDING_PER_PROCESS
    assert list(results) == [str(n) for n in range(3, 100)]


def test_few_threads_or_one_worker_start_no_process(monkeypatch):
    monkeypatch.setattr(process_pool, "ProcessPoolExecutor", None)
    with use_processes(1, 10**9), use_processes(8, process_pool.MIN_THREADS - 1):
        pass


def random_threads(n=6 * BLOCK):
    rng = np.random.default_rng(4)
    return Records.from_sets(
        [set((12 * rng.random(4) ** 2).astype(int).tolist()) for _ in range(n)],
        rng.integers(0, n // 2, n).tolist(),
    )


def random_log():
    rng = np.random.default_rng(6)
    words = np.array(["pine", "straw", "mulch", "bark", "leaf", "moss"])
    return [
        (int(rng.integers(60)), time, " ".join(words[rng.choice(6, 2, replace=False)]))
        for time in range(400)
    ]


@pytest.mark.slow
def test_local_search_and_release_do_not_depend_on_the_number_of_processes(monkeypatch):
    records, params = random_threads(), Params(3)
    labels = open_itemsets(records, params).labels
    log, secret = random_log(), b"for tests only"
    monkeypatch.setattr(process_pool, "MIN_THREADS", 0)
    monkeypatch.setattr(edits, "BATCH_WORDS", 50)
    executors, use_executor = [], process_pool.use_executor
    monkeypatch.setattr(
        process_pool, "use_executor", lambda each: executors.append(each) or use_executor(each)
    )

    improved = local_search(records, labels, params)
    result = anonymize_log(log, 3, secret=secret)
    with use_processes(2, len(records)):
        assert np.array_equal(local_search(records, labels, params), improved)
        assert anonymize_log(log, 3, secret=secret) == result

    assert len(executors) == 1
    assert (improved != labels).any()
    assert len(result.release.queries) > 100
