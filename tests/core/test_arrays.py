"""Functions on integer arrays against Python loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.arrays import (
    concat_ranges,
    dense_ranks,
    earlier_occurrences,
    first_positions,
    inverse_permutation,
    offsets_of,
    rows_of,
    run_starts,
    sorted_unique,
)
from setanon_core.columns.users import user_ranks
from setanon_core.errors import MalformedInputError

NUMBERS = st.lists(st.integers(0, 5), max_size=12)
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


def int64(values):
    return np.array(values, np.int64)


def columns(pairs):
    return int64([a for a, _ in pairs]), int64([b for _, b in pairs])


@given(NUMBERS)
def test_distinct_numbers_ranks_and_first_positions_equal_those_of_lists(numbers):
    distinct = sorted(set(numbers))
    ranks, count = dense_ranks(int64(numbers))

    assert sorted_unique(int64(numbers)).tolist() == distinct
    assert ranks.tolist() == [distinct.index(number) for number in numbers]
    assert count == len(distinct)
    assert first_positions(ranks).tolist() == [numbers.index(number) for number in distinct]


@given(PAIRS)
def test_concat_ranges_equals_concatenated_python_ranges(pairs):
    expected = [number for start, size in pairs for number in range(start, start + size)]
    assert concat_ranges(*columns(pairs)).tolist() == expected


@given(NUMBERS)
def test_rows_invert_offsets(sizes):
    offsets = offsets_of(int64(sizes))
    expected = [row for row, size in enumerate(sizes) for _ in range(size)]
    assert rows_of(offsets, sum(sizes)).tolist() == expected
    with pytest.raises(MalformedInputError, match="offsets must rise"):
        rows_of(offsets, sum(sizes) + 1)


@given(PAIRS)
def test_run_starts_compares_with_the_previous_row(pairs):
    expected = [n == 0 or pair != pairs[n - 1] for n, pair in enumerate(pairs)]
    assert run_starts(*columns(pairs)).tolist() == expected


@given(PAIRS)
def test_earlier_occurrences_counts_equal_rows_before(pairs):
    expected = [pairs[:n].count(pair) for n, pair in enumerate(pairs)]
    assert earlier_occurrences(*columns(pairs)).tolist() == expected


@given(st.permutations(range(6)))
def test_inverse_permutation_undoes_the_permutation(order):
    assert inverse_permutation(order)[order].tolist() == list(range(6))


@given(PAIRS)
def test_users_are_ranked_and_counted_per_group(pairs):
    users_of_group = {group: sorted({u for g, u in pairs if g == group}) for group, _ in pairs}
    ranks, counts = user_ranks(*columns(pairs))
    assert ranks.tolist() == [users_of_group[group].index(user) for group, user in pairs]
    assert counts.tolist() == [len(users_of_group[group]) for group, _ in pairs]
