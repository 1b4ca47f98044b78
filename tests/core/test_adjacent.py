"""Pairs of sets and centers that differ in at most one item, against all pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping.improve.adjacent import adjacent

SETS = st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=8)


def encode(sets):
    items = [item for members in sets for item in sorted(members)]
    offsets = np.cumsum([0, *map(len, sets)])
    return Records(np.array(items, np.int64), offsets, np.arange(len(sets))).sets


@given(SETS, SETS.map(dict.fromkeys).map(list), st.data())
def test_every_pair_that_differs_in_at_most_one_item_is_returned_once(sets, centers, data):
    for_equal = data.draw(st.lists(st.sampled_from(range(len(sets))), unique=True))
    for_adjacent = [row for row in for_equal if data.draw(st.booleans())]
    row, center = adjacent(
        encode(sets),
        np.array(for_equal, np.int64),
        np.array(for_adjacent, np.int64),
        encode(centers),
    )
    expected = [
        (row, number)
        for row in for_equal
        for number, members in enumerate(centers)
        if len(sets[row] ^ members) <= (1 if row in for_adjacent else 0)
    ]
    assert sorted(zip(row.tolist(), center.tolist(), strict=True)) == sorted(expected)
