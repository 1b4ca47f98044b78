"""Proposition 2: Algorithm 1 turns any feasible S_* into a feasible S_flip."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import flips

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip
from setanon_core.verify import verify

sets = st.lists(st.frozensets(st.integers(0, 5), min_size=1), min_size=4, max_size=9)


@given(records=sets, k=st.integers(2, 4), data=st.data())
def test_groups_of_k_become_k_identical_records(records, k, data):
    order = data.draw(st.permutations(range(len(records))))
    labels = np.empty(len(records), np.int64)
    labels[order] = np.minimum(np.arange(len(records)) // k, len(records) // k - 1)

    rows, centers = flip(Records.from_sets(records), labels)

    published = [
        None if row < 0 else frozenset(centers.take(np.array([row])).items.tolist()) for row in rows
    ]
    assert verify(published, k).ok


@given(records=sets)
def test_majority_is_the_cheapest_center_of_a_group(records):
    columns = Records.from_sets(records)

    cost = cost_of(columns, *flip(columns, np.zeros(len(records), np.int64)))

    assert cost.total == flips(records)
