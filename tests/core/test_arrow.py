"""`Records.from_arrow` equals `Records.from_sets` for every kind of list column."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import anonymize, verify
from setanon_core.columns.records import Records
from setanon_core.errors import MalformedInputError

CANARY = "canary-7f3a"
LISTS = pa.list_(pa.string())
BASKETS = st.lists(st.lists(st.sampled_from(["milk", "bread", "", "é", "tea"]), max_size=4))


def assert_same(records, baskets, users=None):
    expected = Records.from_sets(baskets, users)
    assert records.vocabulary == expected.vocabulary
    assert records.items.tolist() == expected.items.tolist()
    assert records.offsets.tolist() == expected.offsets.tolist()
    assert records.users.tolist() == expected.users.tolist()


@given(BASKETS)
def test_list_and_large_list_columns_are_read(baskets):
    assert_same(Records.from_arrow(pa.array(baskets, LISTS)), baskets)
    assert_same(Records.from_arrow(pa.array(baskets, pa.large_list(pa.large_string()))), baskets)


@given(BASKETS, BASKETS)
def test_chunked_columns_are_concatenated(first, second):
    column = pa.chunked_array([pa.array(first, LISTS), pa.array(second, LISTS)])
    assert_same(Records.from_arrow(column), first + second)


@given(BASKETS, st.integers(0, 5), st.integers(0, 5))
def test_a_slice_has_only_its_own_records_and_items(baskets, start, length):
    column = pa.array(baskets, LISTS).slice(start, length)
    assert_same(Records.from_arrow(column), baskets[start : start + length])


@given(BASKETS, st.integers(0, 5))
def test_unused_dictionary_values_are_not_in_the_vocabulary(baskets, start):
    flat = pa.array([item for basket in baskets for item in basket], pa.string())
    offsets = pa.array(np.cumsum([0, *map(len, baskets)]), pa.int32())
    column = pa.ListArray.from_arrays(offsets, flat.dictionary_encode()).slice(start)
    assert_same(Records.from_arrow(column), baskets[start:])


def test_dictionaries_of_different_chunks_are_unified():
    chunks = [
        pa.ListArray.from_arrays([0, 2], pa.array(words).dictionary_encode())
        for words in (["a", "b"], ["c", "b"])
    ]
    assert_same(Records.from_arrow(pa.chunked_array(chunks)), [["a", "b"], ["c", "b"]])


def test_integer_items_are_numbered_in_sort_order():
    column = pa.array([[30, 10], [20, 30]], pa.list_(pa.int64()))
    assert_same(Records.from_arrow(column), [[30, 10], [20, 30]])


def test_an_empty_column_has_no_records():
    assert len(Records.from_arrow(pa.array([], LISTS))) == 0
    assert len(Records.from_arrow(pa.chunked_array([], LISTS))) == 0
    assert len(Records.from_arrow(pa.table({"items": pa.array([[], []], LISTS)})["items"])) == 2


@pytest.mark.parametrize(
    "users",
    [
        ["v", "u", "v"],
        pa.array(["v", "u", "v"]),
        pa.array(["x", "v", "u", "v"]).slice(1),
        pa.array(["v", "u", "v"]).dictionary_encode(),
        pa.chunked_array([["v"], ["u", "v"]]),
        pa.array([7, 3, 7]),
        np.array([7, 3, 7]),
    ],
)
def test_users_may_be_any_kind_of_column(users):
    column = pa.array([["a"], ["b"], []], LISTS)
    assert_same(Records.from_arrow(column, users), [["a"], ["b"], []], ["v", "u", "v"])


def test_a_user_repeated_in_a_dictionary_is_one_user():
    users = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["u", "u", "v"]))
    records = Records.from_arrow(pa.array([["a"]] * 3, LISTS), users)
    assert records.users.tolist() == [0, 0, 1]


def test_an_item_repeated_in_a_dictionary_is_one_item():
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", "b", "a"]))
    assert_same(Records.from_arrow(pa.ListArray.from_arrays([0, 2, 3], values)), [["b"], ["a"]])


class Column:
    """An Arrow column without iteration and `to_pylist`: only its buffers can be read."""

    def __init__(self, array):
        self.type = array.type
        self.null_count = array.null_count
        self._array = array

    @property
    def offsets(self):
        return self._array.offsets

    def flatten(self):
        return Column(self._array.flatten())

    def dictionary_encode(self):
        return self._array.dictionary_encode()


def test_no_python_object_is_created_per_record_or_occurrence():
    baskets = [["a", "b"], ["b"], []]
    assert_same(Records.from_arrow(Column(pa.array(baskets, LISTS))), baskets)


def dictionary(values):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(values))), pa.array(values))


ONE = pa.array([[CANARY]], LISTS)


@pytest.mark.parametrize(
    ("lists", "users", "message"),
    [
        (pa.array([[CANARY], None, None], LISTS), None, "every record must be a list; 2 are null"),
        (pa.array([[CANARY, None]], LISTS), None, "no item may be null; 1 are"),
        (pa.ListArray.from_arrays([0, 2], dictionary([CANARY, None])), None, "no item may be miss"),
        (pa.array([[1.0, float("nan")]]), None, "no item may be missing"),
        (pa.array([[[CANARY]]]), None, "every item must be a single value"),
        (pa.array([CANARY]), None, "column of lists; got string"),
        (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), None, "got fixed_size_list"),
        ([[CANARY]], None, "column of lists; got list"),
        (ONE, pa.array([None], pa.string()), "no user may be null; 1 are"),
        (ONE, dictionary([None]).cast(pa.string()), "no user may be null"),
        (ONE, pa.DictionaryArray.from_arrays([0], pa.array([None], pa.string())), "no user may be"),
        (ONE, pa.array([float("nan")]), "no user may be missing"),
        (ONE, pa.array([CANARY, CANARY]), "2 users for 1 records"),
        (ONE, [None], "every record must have a user"),
    ],
)
def test_invalid_columns_are_refused_and_not_shown(lists, users, message):
    with pytest.raises(MalformedInputError, match=message) as caught:
        Records.from_arrow(lists, users)
    assert CANARY not in str(caught.value)


def test_null_users_are_refused():
    users = pa.array(["u", None, "v"])

    with pytest.raises(MalformedInputError, match="no user may be null; 1 are"):
        anonymize([["a"]] * 3, 3, users=users)
    with pytest.raises(MalformedInputError, match="record 1 has none"):
        verify([["a"]] * 3, 3, users=users)


def test_an_arrow_column_can_be_anonymized_and_verified():
    result = anonymize(pa.array([["a"], ["a", "b"], ["c"]], LISTS), 2)

    assert result.records == (frozenset("a"), frozenset("a"), None)
    assert verify(pa.array([["a"], ["a"], None], LISTS), 2).records == 2
