"""Pairs of a set and a center that differ in one item or none, held against all pairs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping.improve.adjacent import adjacent

SETS = st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=8)


def encoded(sets):
    items = [item for one in sets for item in sorted(one)]
    offsets = np.cumsum([0, *map(len, sets)])
    return Records(np.array(items, np.int64), offsets, np.arange(len(sets))).sets


@given(SETS, SETS.map(dict.fromkeys).map(list), st.data())
def test_every_pair_that_differs_in_one_item_or_none_is_found_once(sets, centers, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(sets))), unique=True))
    further = [row for row in chosen if data.draw(st.booleans())]
    row, c = adjacent(
        encoded(sets), np.array(chosen, np.int64), np.array(further, np.int64), encoded(centers)
    )
    due = [
        (at, number)
        for at in chosen
        for number, center in enumerate(centers)
        if len(sets[at] ^ center) <= (1 if at in further else 0)
    ]
    assert sorted(zip(row.tolist(), c.tolist(), strict=True)) == sorted(due)
