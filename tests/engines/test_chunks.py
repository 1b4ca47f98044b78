"""A sorted stream is cut into whole groups, whatever the sizes of batches and chunks."""

from functools import partial
from itertools import chain

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.errors import MalformedInputError
from setanon_dagster.engines.chunks import cut_chunks, process_chunk, take_result
from setanon_dagster.storage.batches import rebatch

SCHEMA = pa.schema({"key": pa.string(), "row": pa.int64()})
KEYS = st.lists(st.sampled_from(["a", "b", "é", "北"]), max_size=30).map(sorted)
SIZES = st.integers(1, 9)


def batches(keys, size):
    table = pa.table([keys, range(len(keys))], schema=SCHEMA)
    return list(rebatch(table, size))


def chunks(folder, keys, size, rows, longest=None):
    found = []
    for chunk in cut_chunks(batches(keys, size), SCHEMA, "key", rows, folder, longest=longest):
        table = pa.ipc.open_stream(chunk.path.read_bytes()).read_all()
        assert len(table) == chunk.rows
        found.append(table["key"].to_pylist())
        chunk.path.unlink()
    assert list(folder.iterdir()) == []
    return found


@given(keys=KEYS, size=SIZES, rows=SIZES)
def test_no_group_is_in_two_chunks_and_no_row_is_lost(tmp_path_factory, keys, size, rows):
    found = chunks(tmp_path_factory.mktemp("cut"), keys, size, rows)
    assert list(chain.from_iterable(found)) == keys
    assert sum(len(set(own)) for own in found) == len(set(keys))
    assert all(len(own) >= rows for own in found[:-1])


@given(keys=KEYS, size=SIZES, rows=SIZES)
def test_a_chunk_ends_with_the_first_group_that_fills_it(tmp_path_factory, keys, size, rows):
    for own in chunks(tmp_path_factory.mktemp("cut"), keys, size, rows):
        before = [key for key in own if key != own[-1]]
        assert len(before) < rows


@given(keys=KEYS, size=SIZES, rows=SIZES, longest=st.integers(1, 5))
def test_a_long_group_is_cut_where_its_parts_begin_and_nowhere_else(
    tmp_path_factory, keys, size, rows, longest
):
    seen = dict.fromkeys(keys, 0)
    for own in chunks(tmp_path_factory.mktemp("cut"), keys, size, rows, longest):
        assert seen[own[0]] % longest == 0
        assert len(own) < rows + longest
        for key in own:
            seen[key] += 1
    assert seen == {key: keys.count(key) for key in keys}


def test_a_chunk_abandoned_leaves_no_file(tmp_path):
    made = cut_chunks(batches(["a", "b", "c"], 3), SCHEMA, "key", 1, tmp_path)
    next(made).path.unlink()
    made.close()
    assert list(tmp_path.iterdir()) == []


def test_a_row_without_a_key_is_refused_by_number(tmp_path):
    with pytest.raises(MalformedInputError, match=r"every row must have a key; 2 have none"):
        list(cut_chunks(batches(["canary", None, None], 3), SCHEMA, "key", 1, tmp_path))


def negated(table, name):
    return pa.table({name: [-number for number in table["row"].to_pylist()]})


def test_work_travels_as_files_that_do_not_stay(tmp_path):
    (chunk,) = cut_chunks(batches(["a", "a"], 1), SCHEMA, "key", 9, tmp_path)
    table = take_result(process_chunk(partial(negated, name="less"), str(chunk.path)))
    assert table["less"].to_pylist() == [0, -1]
    assert [path.name for path in tmp_path.iterdir()] == [chunk.path.name]
