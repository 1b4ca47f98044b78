"""Candidate records for an itemset against a scan of all records."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping.distinct_sets import DistinctSets
from setanon_core.grouping.improve.candidates import NO_CANDIDATE, CandidateRecords
from setanon_core.grouping.itemsets import frequent_itemsets


def as_sets(sets):
    pairs = zip(sets.offsets[:-1].tolist(), sets.offsets[1:].tolist(), strict=True)
    return [set(sets.items[low:high].tolist()) for low, high in pairs]


@given(st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=1, max_size=9), st.data())
def test_candidates_contain_the_itemset_are_available_and_have_a_low_saving(sets, data):
    records = Records.from_sets(sets)
    n = len(sets)
    saving = np.array(data.draw(st.lists(st.integers(-2, 3), min_size=n, max_size=n)))
    may_leave = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    distinct = DistinctSets(records)
    itemsets = frequent_itemsets(distinct.sets, distinct.weights, 1)
    candidates = CandidateRecords(distinct, itemsets, saving, may_leave)
    record_sets = as_sets(records)
    for _ in range(3):  # again after some records have become unavailable
        for c, itemset in enumerate(as_sets(itemsets.sets)):
            able = [i for i in range(n) if itemset <= record_sets[i] and may_leave[i]]
            assert candidates.min_saving[c] == min((saving[i] for i in able), default=NO_CANDIDATE)
            expected = [i for i in able if saving[i] <= 1 and not candidates.unavailable[i]]
            assert sorted(candidates.containing(c, 1)) == expected
        candidates.unavailable[data.draw(st.integers(0, n - 1))] = True
