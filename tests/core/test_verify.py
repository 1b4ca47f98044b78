"""`verify` against a quadratic oracle, and on mutations of valid releases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.verify import verify

CANARY = "canary-7f3a"
ITEMS = st.frozensets(st.integers(0, 3), max_size=3)


def violating_positions(records, users, k):
    """Positions of published records shared by fewer than k users, by comparing all pairs."""
    return [
        position
        for position, record in enumerate(records)
        if record is not None
        and len({user for other, user in zip(records, users, strict=True) if other == record}) < k
    ]


@given(st.lists(st.tuples(st.none() | ITEMS, st.integers(0, 5)), max_size=12), st.integers(2, 4))
def test_the_counts_of_a_verdict_equal_those_of_the_oracle(pairs, k):
    records, users = [record for record, _ in pairs], [user for _, user in pairs]
    violating = violating_positions(records, users, k)
    published = [record for record in records if record is not None]
    verdict = verify(records, k, users=users)
    assert verdict.ok is (not violating)
    assert verdict.violations == len(violating)
    assert verdict.violating_groups == len({records[position] for position in violating})
    assert (verdict.k, verdict.records) == (k, len(published))
    assert verdict.groups == len(set(published))
    groups = [{u for r, u in pairs if r == record} for record in published]
    assert verdict.smallest_group == min(map(len, groups), default=0)


@st.composite
def releases(draw):
    """A release that is k-anonymous by construction: every distinct set has at least k users."""
    k = draw(st.integers(2, 3))
    records, users = [], []
    for center in draw(st.lists(ITEMS, min_size=1, max_size=3, unique=True)):
        group = draw(st.lists(st.integers(0, 6), min_size=k, max_size=5, unique=True))
        group += draw(st.lists(st.sampled_from(group), max_size=2))
        records += [center] * len(group)
        users += group
    withdrawn = draw(st.integers(0, 2))
    return k, [*records, *[None] * withdrawn], [*users, *range(withdrawn)]


@given(releases())
def test_a_k_anonymous_release_is_accepted(release):
    k, records, users = release
    assert verify(records, k, users=users).ok


@given(releases(), st.data())
def test_added_and_removed_items_are_rejected_if_they_break_the_definition(release, data):
    k, records, users = release
    position = data.draw(st.sampled_from([p for p, r in enumerate(records) if r is not None]))
    # No set has item 4, so adding it makes a record unique.
    mutated = list(records)
    mutated[position] ^= {data.draw(st.integers(0, 4))}
    verdict = verify(mutated, k, users=users)
    assert verdict.ok is (not violating_positions(mutated, users, k))
    unique = list(records)
    unique[position] |= {4}
    assert not verify(unique, k, users=users).ok


@given(releases(), st.data())
def test_a_record_assigned_to_another_user_is_rejected_if_too_few_users_remain(release, data):
    k, records, users = release
    position = data.draw(st.sampled_from(range(len(records))))
    mutated = list(users)
    mutated[position] = data.draw(st.integers(0, 7))
    assert verify(records, k, users=mutated).ok is (not violating_positions(records, mutated, k))


@given(ITEMS, st.integers(2, 5))
def test_many_records_of_too_few_users_are_rejected(record, k):
    users = [position % (k - 1) for position in range(3 * k)]
    verdict = verify([record] * len(users), k, users=users)
    assert verdict.violations == len(users)
    assert verdict.smallest_group == k - 1
    assert verify([record] * len(users), k).ok


def test_withdrawn_records_are_not_counted():
    assert verify([None, None], 2).ok
    assert verify([None, {"a"}], 2, users=["u", "v"]).violations == 1
    assert verify([], 2).smallest_group == 0


def test_records_may_be_lists_tuples_or_mappings_from_a_generator():
    release = ([*"ab"], tuple("ba"), {"a": 1, "b": 2}, frozenset("aab"))
    assert verify((record for record in release), 4).groups == 1


@pytest.mark.parametrize("users", [[CANARY], [CANARY] * 3, []])
def test_users_of_another_length_are_refused(users):
    with pytest.raises(
        MalformedInputError, match=f"got {len(users)} users for 2 records"
    ) as caught:
        verify([{"a"}, {"a"}], 2, users=users)
    assert CANARY not in str(caught.value)


NAN = float("nan")


@pytest.mark.parametrize(
    "missing",
    [
        None,
        NAN,
        np.float64("nan"),
        [CANARY],
        np.ones(2),
        (1, NAN),
        (1, (NAN, 2)),
        frozenset({1, NAN}),
    ],
)
def test_a_published_record_without_a_user_is_refused(missing):
    with pytest.raises(MalformedInputError, match="record 1 has none") as caught:
        verify([{CANARY}, {CANARY}], 2, users=["u", missing])
    assert CANARY not in str(caught.value)
    assert verify([{"a"}, {"a"}, None], 2, users=["u", "v", missing]).ok


@pytest.mark.parametrize("record", [CANARY, CANARY.encode(), 7, [[CANARY]]])
def test_texts_and_other_values_that_are_not_sets_are_refused(record):
    with pytest.raises(MalformedInputError, match="record 1 must be a collection") as caught:
        verify([{"a"}, record], 2)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("k", [1, 0, "2", None])
def test_k_below_two_is_refused(k):
    with pytest.raises(InvalidParameterError, match="k must be"):
        verify([{"a"}], k)


@pytest.mark.parametrize("users", ["ab", 5, {CANARY, "b"}, {CANARY: 1, "b": 2}])
def test_users_without_an_order_are_refused(users):
    with pytest.raises(MalformedInputError, match="users must be a sequence") as caught:
        verify([{1}, {1}], 2, users=users)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("records", [None, 5, CANARY, {CANARY: {1}}])
def test_records_that_are_not_a_sequence_are_refused(records):
    with pytest.raises(MalformedInputError, match="records must be a sequence") as caught:
        verify(records, 2)
    assert CANARY not in str(caught.value)


def test_verdict_is_true_only_without_violations():
    assert verify([{"a"}, {"a"}], k=2)
    assert not verify([{"a"}, {"b"}], k=2)


@pytest.mark.parametrize("users", [np.array([["u", "v"], ["u", "w"]]), np.ones((2, 1))])
def test_users_that_are_a_table_are_refused(users):
    with pytest.raises(MalformedInputError, match="users must be one column"):
        verify([{"a"}, {"a"}], 2, users=users)


def test_users_may_be_tuples():
    assert verify([{"a"}, {"a"}], 2, users=[(1, "x"), (1, "y")]).smallest_group == 2
    assert verify([{"a"}, {"a"}], 2, users=[(1, "x"), (1, "x")]).smallest_group == 1


class Column:
    """A column of another library: iterating gives scalars, which are never None."""

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter([["scalar"]] * len(self.values))

    def to_pylist(self):
        return self.values


def test_columns_of_other_libraries_are_converted_to_lists():
    verdict = verify(Column([["a"], None, ["b"]]), 2, users=Column(["u", None, "v"]))

    assert (verdict.records, verdict.groups, verdict.violations) == (2, 2, 2)
