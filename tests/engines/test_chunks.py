"""Chunks contain complete groups for all sizes of batches and chunks."""

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


def keys_of_chunks(folder, keys, batch_rows, min_rows, max_group_rows=None):
    """The keys of each chunk; checks row counts and that no file is left."""
    result = []
    for chunk in cut_chunks(
        batches(keys, batch_rows), SCHEMA, "key", min_rows, folder, max_group_rows=max_group_rows
    ):
        table = pa.ipc.open_stream(chunk.path.read_bytes()).read_all()
        assert len(table) == chunk.rows
        result.append(table["key"].to_pylist())
        chunk.path.unlink()
    assert list(folder.iterdir()) == []
    return result


@given(keys=KEYS, batch_rows=SIZES, min_rows=SIZES)
def test_chunks_partition_the_rows_and_no_group_is_split(
    tmp_path_factory, keys, batch_rows, min_rows
):
    chunks = keys_of_chunks(tmp_path_factory.mktemp("chunks"), keys, batch_rows, min_rows)
    assert list(chain.from_iterable(chunks)) == keys
    assert sum(len(set(chunk)) for chunk in chunks) == len(set(keys))
    assert all(len(chunk) >= min_rows for chunk in chunks[:-1])
    for chunk in chunks:
        before_last_group = [key for key in chunk if key != chunk[-1]]
        assert len(before_last_group) < min_rows


@given(keys=KEYS, batch_rows=SIZES, min_rows=SIZES, max_group_rows=st.integers(1, 5))
def test_long_groups_are_split_only_at_multiples_of_the_maximum(
    tmp_path_factory, keys, batch_rows, min_rows, max_group_rows
):
    folder = tmp_path_factory.mktemp("chunks")
    rows = dict.fromkeys(keys, 0)
    for chunk in keys_of_chunks(folder, keys, batch_rows, min_rows, max_group_rows):
        assert rows[chunk[0]] % max_group_rows == 0
        assert len(chunk) < min_rows + max_group_rows
        for key in chunk:
            rows[key] += 1
    assert rows == {key: keys.count(key) for key in keys}


def test_closing_early_leaves_no_file(tmp_path):
    chunks = cut_chunks(batches(["a", "b", "c"], 3), SCHEMA, "key", 1, tmp_path)
    next(chunks).path.unlink()
    chunks.close()
    assert list(tmp_path.iterdir()) == []


def test_rows_without_a_key_are_refused_with_their_number(tmp_path):
    with pytest.raises(MalformedInputError, match=r"every row must have a key; 2 have none"):
        list(cut_chunks(batches(["canary", None, None], 3), SCHEMA, "key", 1, tmp_path))


def negate(table, name):
    return pa.table({name: [-number for number in table["row"].to_pylist()]})


def test_result_replaces_the_chunk_and_is_deleted_when_taken(tmp_path):
    (chunk,) = cut_chunks(batches(["a", "a"], 1), SCHEMA, "key", 9, tmp_path)
    result = process_chunk(partial(negate, name="negated"), "key", chunk)
    assert [path.name for path in tmp_path.iterdir()] == [result.path.name]
    assert take_result(result)["negated"].to_pylist() == [0, -1]
    assert result.counts.rows == 2
    assert list(tmp_path.iterdir()) == []
