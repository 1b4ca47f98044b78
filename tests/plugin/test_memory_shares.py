"""`memory_limit` is that of all processes: its shares fit into it, or the log is refused."""

from contextlib import nullcontext

import pytest
from support.release_runs import release_config

from setanon_core.errors import InvalidParameterError
from setanon_core.partition.plan import PLACE, count_places
from setanon_dagster.engines import choose, process_pool
from setanon_dagster.runtime import memory_shares
from setanon_dagster.runtime.memory_shares import MemoryShares, parse_memory

LIMITS = ["1GB", "1500MB", "2GB", "3GB", "4GB", "16GiB"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("workers", [1, 2, 64])
def test_the_shares_of_an_engine_fit_into_the_limit(limit, workers):
    shares = MemoryShares(parse_memory(limit), workers)
    processes = shares.processes
    assert 1 <= processes <= workers
    used = 2 * parse_memory(shares.duckdb) + memory_shares.PROGRAMS
    if processes > 1:
        used += processes * memory_shares.WORKER
        assert used <= shares.limit


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("threads", [0, 1_000, PLACE, PLACE + 1, 10 * PLACE, 100 * PLACE])
def test_the_shares_of_the_grouping_fit_into_the_limit_or_are_refused(limit, threads):
    shares, places = MemoryShares(parse_memory(limit), 2), count_places(threads)
    per_thread = memory_shares.THREAD_OF_PLACES if places > 1 else memory_shares.THREAD_OF_ONE_PLACE
    columns = memory_shares.PROGRAMS + threads * per_thread
    try:
        processes = shares.group_processes(threads, places)
    except InvalidParameterError:
        assert columns + (places > 1) * memory_shares.PLACE > shares.limit
        return
    assert columns + (processes > 1 or places > 1) * processes * memory_shares.PLACE <= shares.limit


def test_the_refusal_names_a_limit_that_suffices():
    threads = 40 * PLACE
    with pytest.raises(InvalidParameterError) as refused:
        MemoryShares(parse_memory("4GB"), 2).group_processes(threads, 40)
    assert str(refused.value) == (
        "memory_limit must be at least 7100MB to group 50,000,000 threads; got 4000MB. Set a "
        "higher limit, or release the log in partitions."
    )
    assert MemoryShares(parse_memory("7100MB"), 2).group_processes(threads, 40) == 1


def test_the_refused_limit_is_not_rounded_to_the_one_that_suffices():
    with pytest.raises(InvalidParameterError, match=r"at least 1100MB .*; got 1073MB"):
        MemoryShares(parse_memory("1GiB"), 2).group_processes(700_000, 1)


@pytest.mark.parametrize("places", [1, 40])
def test_attributes_need_memory_for_each_thread(places):
    shares = MemoryShares(parse_memory("7100MB"), 2)
    threads = 9_200_000 if places == 1 else 40 * PLACE
    assert shares.group_processes(threads, places)
    for attributes in (1, 2):
        with pytest.raises(InvalidParameterError) as refused:
            shares.group_processes(threads, places, attributes)
        per_thread = attributes * memory_shares.THREAD_OF_ATTRIBUTE + (
            memory_shares.THREAD_OF_ONE_PLACE if places == 1 else memory_shares.THREAD_OF_AGREEMENT
        )
        needed = parse_memory(str(refused.value).split()[5])
        columns = memory_shares.PROGRAMS + (places > 1) * memory_shares.PLACE + per_thread * threads
        assert columns <= needed < columns + 100_000_000


def test_the_attributes_of_a_release_are_counted(tmp_path):
    threads = 1_500_000
    for attributes in ((), ("week",)):
        config = release_config(tmp_path, memory_limit="1300MB", attributes=attributes)
        refused = pytest.raises(InvalidParameterError, match="memory_limit must be at least")
        with (
            refused if attributes else nullcontext(),
            choose.use_configured_executor(config, threads),
        ):
            pass


def test_a_log_that_does_not_fit_is_refused_before_it_is_grouped(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(process_pool, "start_processes", started.append)
    config = release_config(tmp_path, memory_limit="1GB", workers=2)
    with (
        pytest.raises(InvalidParameterError, match="memory_limit must be at least"),
        choose.use_configured_executor(config, 20_000_000),
    ):
        pass
    assert started == []


def test_the_engine_gets_its_share(tmp_path):
    config = release_config(tmp_path, memory_limit="1200MB", workers=8)
    with choose.open_embedded(config) as engine:
        assert engine.workers == 1
        limit = "SELECT current_setting('memory_limit')"
        # DuckDB prints units of 1024.
        assert engine.connection.execute(limit).fetchall() == [("286.1 MiB",)]
