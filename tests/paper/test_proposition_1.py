"""Proposition 1: flips in R_D and additions/deletions in D have the same cost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping.cost import cost_of
from setanon_core.grouping.flip import flip

sets = st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=8)


def bits(sets, m):
    return np.array([[item in record for item in range(m)] for record in sets], np.bool_)


@given(records=sets, data=st.data())
def test_flipped_bits_are_the_additions_and_deletions(records, data):
    labels = np.array([data.draw(st.integers(-1, 2)) for _ in records])
    columns = Records.from_sets(records)
    m = len(columns.vocabulary)

    rows, centers = flip(columns, labels)
    cost = cost_of(columns, rows, centers)

    before = bits([{columns.vocabulary.index(item) for item in record} for record in records], m)
    published = [centers.take(np.array([row])).items.tolist() if row >= 0 else [] for row in rows]
    after = bits(published, m)
    assert cost.additions == (~before & after).sum()
    assert cost.deletions == (before & ~after).sum()
