"""`Sets` against the obvious representation: a list of sorted tuples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.sets import Sets
from setanon_core.errors import MalformedInputError

# Numbers on both sides of the byte boundaries, where packed keys could overflow.
NUMBERS = st.one_of(
    st.integers(0, 6), st.sampled_from([127, 128, 255, 256, 65536, 2**24, 2**31 - 1])
)
LISTS = st.lists(st.sets(NUMBERS, max_size=5).map(sorted).map(tuple), max_size=12)


def sets_of(tuples):
    items = [item for members in tuples for item in members]
    offsets = np.cumsum([0, *map(len, tuples)])
    return Sets(np.asarray(items, np.int64), offsets)


def tuples_of(sets):
    return [
        tuple(sets.items[low:high].tolist())
        for low, high in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    ]


@given(LISTS)
def test_columns_represent_the_sets_in_order(tuples):
    sets = sets_of(tuples)
    assert len(sets) == len(tuples)
    assert tuples_of(sets) == tuples
    assert sets.sizes.tolist() == [len(members) for members in tuples]
    assert sets.rows.tolist() == [row for row, members in enumerate(tuples) for _ in members]
    assert sets.width == max((item + 1 for members in tuples for item in members), default=0)


@given(LISTS)
def test_ranks_order_distinct_sets_by_size_then_by_items(tuples):
    order = sorted(set(tuples), key=lambda members: (len(members), members))
    assert sets_of(tuples).ranks.tolist() == [order.index(members) for members in tuples]


@pytest.mark.parametrize("item", [-1, 2**31, 2**33])
def test_item_numbers_out_of_range_are_refused(item):
    with pytest.raises(MalformedInputError, match="items must be numbers from 0 to"):
        sets_of([(item,)])


@given(LISTS, st.data())
def test_take_returns_sets_in_the_order_of_positions_with_repeats(tuples, data):
    positions = data.draw(st.lists(st.sampled_from(range(len(tuples))))) if tuples else []
    taken = sets_of(tuples).take(np.asarray(positions, np.int64))
    assert tuples_of(taken) == [tuples[position] for position in positions]


@given(st.lists(st.sets(st.integers(0, 9)).map(sorted).map(tuple)), st.sets(st.integers(0, 9)))
def test_keep_items_removes_other_items_but_no_set(tuples, kept_items):
    keep = np.isin(np.arange(10), list(kept_items))
    kept = sets_of(tuples).keep_items(keep)
    assert tuples_of(kept) == [
        tuple(item for item in members if item in kept_items) for members in tuples
    ]


@given(st.lists(st.sets(st.integers(0, 200)).map(sorted).map(tuple)))
def test_bitmasks_have_one_bit_per_item(tuples):
    assert sets_of(tuples).bitmasks() == [sum(1 << item for item in members) for members in tuples]


def test_arrays_and_attributes_are_read_only():
    sets = sets_of([(1, 2), (3,)])
    for array in (sets.items, sets.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        sets.items = np.array([1])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint64])
def test_integers_of_any_width_are_stored_as_int64(dtype):
    sets = Sets(np.array([1, 2], dtype), np.array([0, 2], dtype))
    assert sets.items.dtype == sets.offsets.dtype == np.int64


def test_empty_item_column_may_have_any_type():
    assert len(Sets(np.array([]), np.array([0, 0]))) == 1


@pytest.mark.parametrize(
    ("items", "offsets", "message"),
    [
        ([2, 1], [0, 2], "ascend"),
        ([1, 1], [0, 2], "ascend"),
        ([-1, 1], [0, 2], "numbers from 0"),
        ([1, 2], [0, 1], "offsets must rise from 0"),
        ([1, 2], [1, 2], "offsets must rise from 0"),
        ([1, 2], [0, 2, 1, 2], "offsets must rise from 0"),
        ([1, 2], [], "offsets must rise from 0"),
        ([1.0, 2.0], [0, 2], "items must be one column of integers"),
        ([[1, 2]], [0, 2], "items must be one column of integers"),
        (["canary"], [0, 1], "items must be one column of integers"),
        ([1, 2], [0.0, 2.0], "offsets must be one column of integers"),
    ],
)
def test_invalid_columns_are_refused(items, offsets, message):
    with pytest.raises(MalformedInputError, match=message) as refusal:
        Sets(np.asarray(items), np.asarray(offsets))
    assert "canary" not in str(refusal.value)


def test_later_writes_to_the_input_do_not_change_the_sets():
    items, offsets = np.array([3, 5, 9]), np.array([0, 2])
    sets = Sets(items[:2], offsets)
    items[0] = 7

    assert tuples_of(sets) == [(3, 5)]
    with pytest.raises(ValueError, match="read-only"):
        sets.items[0] = 7


def test_repr_has_counts_only():
    assert repr(sets_of([(1, 2), (77,)])) == "Sets(2 sets, 3 item occurrences)"


@pytest.mark.parametrize("sharing", [0, 3, 9, 20])
def test_long_sets_are_ranked_by_size_then_items(sharing):
    # Wide items: a few fill an integer key. The first ones are equal, some sets throughout.
    rng = np.random.default_rng(sharing)
    first = list(range(sharing))
    rest = [sorted(rng.choice(np.arange(100, 100_000), 12, replace=False)) for _ in range(8)]
    lists = [[*first, *map(int, rest[i])][: 16 + i % 2 * 3] for i in (0, 1, 2, 3, 4, 4, 5, 6, 6, 7)]
    offsets = np.cumsum([0, *map(len, lists)])
    ranks = Sets(np.concatenate(lists).astype(np.int64), offsets).ranks
    distinct = sorted({tuple(each) for each in lists}, key=lambda each: (len(each), each))
    assert ranks.tolist() == [distinct.index(tuple(each)) for each in lists]
