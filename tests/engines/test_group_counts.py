"""Counts of a map over groups: an engine that cuts, loses, repeats or swaps groups is refused."""

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.errors import MalformedInputError, SetanonError
from setanon_dagster.engines import chunks
from setanon_dagster.engines.embedded import EmbeddedEngine
from setanon_dagster.engines.group_counts import CutGroupError, GroupCheck, count_groups

KEYS = st.lists(st.sampled_from(["a", "b", "Z", "é", "\uffff", "😀"]), min_size=1, max_size=12)
SCHEMA = pa.schema({"key": pa.string(), "row": pa.int64()})


def check_calls(calls, rows, max_group_rows=None):
    """Whether the check accepts these calls, each a list of keys."""
    check = GroupCheck(max_group_rows)
    try:
        for keys in calls:
            check.add(count_groups(pa.chunked_array([keys], pa.string()), len(keys)))
        check.finish(rows, rows)
    except CutGroupError:
        return None
    return check.total


@given(keys=KEYS, cuts=st.sets(st.integers(1, 11)))
def test_exactly_the_calls_with_complete_groups_are_accepted(keys, cuts):
    keys.sort()
    ends = [0, *sorted(cut for cut in cuts if cut < len(keys)), len(keys)]
    calls = [keys[start:end] for start, end in pairwise(ends)]
    total = check_calls(calls, len(keys))
    complete = sum(len(set(call)) for call in calls) == len(set(keys))
    assert (total is not None) == complete
    if total is not None:
        assert (total.rows, total.keys, total.results) == (len(keys), len(set(keys)), len(keys))


@given(keys=KEYS, cuts=st.sets(st.integers(1, 11)), size=st.integers(1, 4))
def test_long_groups_continue_only_after_a_multiple_of_the_maximum(keys, cuts, size):
    keys.sort()
    ends = [0, *sorted(cut for cut in cuts if cut < len(keys)), len(keys)]
    calls = [keys[start:end] for start, end in pairwise(ends)]
    allowed = all(
        keys[end] != keys[end - 1] or (end - keys.index(keys[end])) % size == 0
        for end in ends[1:-1]
    )
    total = check_calls(calls, len(keys), size)
    assert (total is not None) == allowed
    assert total is None or total.keys == len(set(keys))


@given(keys=KEYS)
def test_unsorted_keys_are_refused_within_a_call_and_between_calls(keys):
    is_sorted = keys == sorted(keys)
    assert (check_calls([keys], len(keys)) is not None) == is_sorted
    distinct = list(dict.fromkeys(keys))
    one_by_one = check_calls([[key] for key in distinct], len(distinct))
    assert (one_by_one is not None) == (distinct == sorted(distinct))


def test_lost_and_repeated_rows_and_results_are_refused():
    for rows in (2, 4):
        assert check_calls([["a"], ["b", "b"]], rows) is None
    check = GroupCheck()
    check.add(count_groups(pa.array([1, 2]), results=5))
    check.finish(2, 5)
    with pytest.raises(CutGroupError, match="5 rows were returned, and 4 received"):
        check.finish(2, 4)


def test_counts_show_no_key_and_rows_without_a_key_are_refused():
    assert "canary" not in repr(count_groups(pa.array(["canary"]), 1))
    with pytest.raises(MalformedInputError, match="every row must have a key; 1 have none"):
        count_groups(pa.array(["a", None]), 2)


def same(table):
    return table


@pytest.mark.parametrize("fault", ["cut", "lost", "repeated"])
def test_embedded_engine_that_does_not_pass_complete_groups_writes_nothing(
    tmp_path, monkeypatch, fault
):
    def faulty_pieces(batches, *_):
        for batch in batches:
            middle = len(batch) // 2
            yield batch.slice(0, middle), True
            yield batch.slice(middle + (fault == "lost")), True
            if fault == "repeated":
                yield batch.slice(middle), True

    monkeypatch.setattr(chunks, "pieces_of_chunks", faulty_pieces)
    keys = ["a", "a", "a", "a"] if fault == "cut" else ["a", "a", "b", "c"]
    with EmbeddedEngine(tmp_path / "engine") as engine:
        rows = engine.sql("FROM rows", rows=pa.table([keys, range(4)], schema=SCHEMA))
        result = engine.group_map(rows, "key", "row", same, SCHEMA)
        with pytest.raises(CutGroupError, match="must be passed to the function"):
            engine.write(result, str(tmp_path / "output.parquet"))
    assert list(tmp_path.glob("*.parquet")) == []


def test_collecting_more_rows_than_expected_is_refused(tmp_path):
    with EmbeddedEngine(tmp_path) as engine:
        rows = engine.sql("SELECT i FROM range(3) t(i)")
        assert engine.collect(rows, 3)["i"].to_pylist() == [0, 1, 2]
        with pytest.raises(SetanonError, match="at most 2 rows"):
            engine.collect(rows, 2)
