"""The pluggable executor: in-process by default."""

import pytest

from setanon_core.runtime.executor import map_ordered, submit, use_executor


class RecordingExecutor:
    def __init__(self):
        self.calls = []

    def map_ordered(self, function, arguments):
        self.calls.append("map_ordered")
        return [function(argument) for argument in arguments]

    def submit(self, function, *arguments):
        self.calls.append("submit")
        return lambda: function(*arguments)


def test_executor_is_used_within_its_context_only():
    executor = RecordingExecutor()
    with use_executor(executor):
        assert list(map_ordered(abs, [-2, 1])) == [2, 1]
        assert submit(sum, [1, 2])() == 3
    assert list(map_ordered(abs, [-2])) == [2]
    assert executor.calls == ["map_ordered", "submit"]


def test_executor_is_reset_after_an_error():
    executor = RecordingExecutor()
    with pytest.raises(KeyError), use_executor(executor):
        raise KeyError
    assert submit(abs, -1)() == 1
    assert executor.calls == []


def test_in_process_call_runs_when_its_result_is_requested():
    calls = []
    wait = submit(calls.append, 1)
    assert calls == []
    wait()
    assert calls == [1]
