"""Memory is given back when another step begins, and not at each of its reports."""

from setanon_dagster.runtime import memory
from setanon_dagster.runtime.memory import MemoryTrimmer


def test_memory_is_given_back_once_for_each_step(monkeypatch):
    times = []
    monkeypatch.setattr(memory, "trim_memory", lambda: times.append(1))
    heard = MemoryTrimmer()

    for step, done in [("mining", 1), ("mining", 2), ("opening", 0), ("opening", 5), ("mining", 1)]:
        heard(step, done, 10)

    assert len(times) == 3
