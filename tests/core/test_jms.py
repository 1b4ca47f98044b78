"""The star greedy for uncapacitated facility location, and its instance."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.records import Records
from setanon_core.grouping.starts.jms import Instance, open_facilities
from setanon_core.params import Params


def test_r_j_sums_the_distances_to_the_k_nearest_users_not_records():
    records = Records.from_sets([{1}, {1}, {1, 2}, {1, 2, 3, 4}], ["a", "a", "b", "c"])

    assert Instance(records, Params(k=2)).R.tolist() == [1, 1, 2]


@given(
    points=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    f=st.integers(0, 12),
    to_open=st.sampled_from([np.inf, 10.0]),
)
def test_opened_facilities_cost_at_most_1_61_times_the_optimum(points, f, to_open):
    d = np.abs(np.subtract.outer(points, points))
    n = len(points)

    def cost(opened):
        nearest = np.min([np.full(n, to_open), *(d[j] for j in opened)], axis=0)
        return f * len(opened) + nearest.sum()

    opened = open_facilities(d, np.ones(n, np.int64), np.full(n, float(f)), np.full(n, to_open))

    subsets = [[j for j in range(n) if mask >> j & 1] for mask in range(1 << n)]
    assert len(set(opened)) == len(opened)
    assert cost(opened) <= 1.61 * min(cost(subset) for subset in subsets) + 1e-9
