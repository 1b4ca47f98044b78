from setanon_dagster.runtime import memory
from setanon_dagster.runtime.memory import MemoryTrimmer


def test_memory_is_trimmed_once_per_step(monkeypatch):
    trims = []
    monkeypatch.setattr(memory, "trim_memory", lambda: trims.append(1))
    listener = MemoryTrimmer()

    for step, done in [("mining", 1), ("mining", 2), ("opening", 0), ("opening", 5), ("mining", 1)]:
        listener(step, done, 10)

    assert len(trims) == 3
