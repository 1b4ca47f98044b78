"""Definition 1: D is k-anonymous if every record is identical to at least k-1 other records."""

from hypothesis import given
from hypothesis import strategies as st

from setanon_core.verify import verify

sets = st.lists(st.frozensets(st.integers(0, 2)), max_size=8)


@given(records=sets, k=st.integers(2, 4))
def test_verify_equals_the_definition(records, k):
    anonymous = all(
        sum(records[i] == records[j] for j in range(len(records)) if j != i) >= k - 1
        for i in range(len(records))
    )

    assert verify(records, k).ok == anonymous


def test_figure_1a_is_not_2_anonymous_and_figure_1b_is():
    figure_1a = [{1, 2, 3}, {1, 2}, {1, 3}, {4, 5, 6}, {4, 5}]
    figure_1b = [{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {4, 5}, {4, 5}]

    assert verify(figure_1a, 2).violations == 5
    assert verify(figure_1b, 2).ok
    assert not verify(figure_1b, 3).ok
