"""Proposition 3: k-group clustering and k-anonymization have the same cost."""

from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st
from support.brute_force import flips, optimum, partitions

sets = st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=4, max_size=6)


def clustering_optimum(records, k):
    """Definition 5: any center in {0,1}^m for any group of at least k."""
    universe = sorted(frozenset().union(*records))
    centers = [
        frozenset(center)
        for center in chain.from_iterable(
            combinations(universe, size) for size in range(len(universe) + 1)
        )
    ]
    return min(
        sum(
            min(sum(len(records[i] ^ center) for i in group) for center in centers)
            for group in groups
        )
        for groups in partitions(len(records), k)
    )


@given(records=sets, k=st.integers(2, 3))
def test_the_optimal_clustering_and_anonymization_have_the_same_cost(records, k):
    assert clustering_optimum(records, k) == optimum(records, k, flips)
