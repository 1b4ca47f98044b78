"""`anonymize` with every method, grouper and set of operations, against brute force."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import best_partition_cost

from setanon_core import Records, anonymize, verify
from setanon_core.params import GROUPERS, METHODS, OPERATIONS, Params

FIGURE_1 = [{"e1", "e2", "e3"}, {"e1", "e2"}, {"e1", "e3"}, {"e4", "e5", "e6"}, {"e4", "e5"}]
FIGURE_1B = [{"e1", "e2", "e3"}] * 3 + [{"e4", "e5"}] * 2

ITEMS = st.frozensets(st.integers(0, 4))
PARAMS = st.fixed_dictionaries(
    {
        "k": st.integers(2, 4),
        "operations": st.sampled_from(OPERATIONS),
        "min_owners": st.sampled_from([None, 0, 1, 3]),
    }
)


@st.composite
def inputs(draw):
    sets = draw(st.lists(ITEMS, min_size=1, max_size=7))
    if draw(st.booleans()):
        return sets, None
    return sets, draw(st.lists(st.integers(0, 4), min_size=len(sets), max_size=len(sets)))


def unpublishable(sets, users, least):
    """Items that fewer than `least` users have."""
    owners = Counter(
        item for _, item in {(u, e) for u, s in zip(users, sets, strict=True) for e in s}
    )
    return {item for item, count in owners.items() if count < least}


def optimum(sets, users, k, operations, min_owners):
    """The optimal cost by brute force; empty records and rare items are never published."""
    rare = unpublishable(sets, users, k if min_owners is None else min_owners)
    not_empty = [(s, u) for s, u in zip(sets, users, strict=True) if s]
    if operations == "additions":
        rest = [(s, u) for s, u in not_empty if not s & rare]
    else:
        rest = [(s - rare, u) for s, u in not_empty]
    removed = sum(len(s) for s, _ in not_empty) - sum(len(s) for s, _ in rest)
    masks = [sum(1 << item for item in s) for s, _ in rest]
    return removed + best_partition_cost(masks, [u for _, u in rest], k, operations)


def check(sets, users, result, params):
    """Every guarantee that can be checked on the input and the result."""
    k, operations, min_owners = params["k"], params["operations"], params["min_owners"]
    published = result.records
    assert len(published) == len(result.labels) == len(sets)
    members = [i for group in result.groups for i in group]
    assert sorted(members) == [i for i, record in enumerate(published) if record is not None]
    assert all(a < b for a, b in pairwise([group[0] for group in result.groups]))
    for group in result.groups:
        assert len({users[i] for i in group}) >= k
        assert len({published[i] for i in group}) == 1
        assert published[group[0]]
        assert len({int(result.labels[i]) for i in group}) == 1
    assert len({published[group[0]] for group in result.groups}) == len(result.groups)
    after = [record or frozenset() for record in published]
    additions = sum(len(new - old) for old, new in zip(sets, after, strict=True))
    deletions = sum(len(old - new) for old, new in zip(sets, after, strict=True))
    cost = result.cost
    assert (cost.additions, cost.deletions) == (additions, deletions)
    assert cost.withdrawals == published.count(None)
    assert cost.total == sum(len(old ^ new) for old, new in zip(sets, after, strict=True))
    rare = unpublishable(sets, users, k if min_owners is None else min_owners)
    assert not rare & frozenset().union(*after)
    for old, new in zip(sets, published, strict=True):
        if operations == "deletions":
            assert new is None or new <= old
        if operations == "additions" and new is not None:
            assert new >= old
    if operations == "additions":
        publishable = [i for i, old in enumerate(sets) if old and not old & rare]
        if len({users[i] for i in publishable}) >= k:
            assert all(published[i] is not None for i in publishable)
    assert verify(published, k, users=users).ok


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("min_owners", [None, 0])
def test_figure_1_is_anonymized_as_in_the_paper(method, min_owners):
    result = anonymize(FIGURE_1, 2, method=method, min_owners=min_owners)
    assert list(result.records) == FIGURE_1B
    assert (result.cost.additions, result.cost.deletions, result.cost.withdrawals) == (2, 1, 0)
    assert result.cost.total == 3
    assert result.groups == ((0, 1, 2), (3, 4))
    assert result.warnings == ()


def test_figure_1_is_proven_optimal_by_default():
    result = anonymize(FIGURE_1, 2)
    assert result.proven_optimal
    assert (result.lower_bound, result.factor) == (3, 1.0)


@pytest.mark.parametrize("as_input", [list, tuple, iter, Records.from_sets])
def test_any_iterable_of_collections_is_accepted(as_input):
    assert list(anonymize(as_input(FIGURE_1), 2).records) == FIGURE_1B
    assert list(anonymize(as_input(list(map(sorted, FIGURE_1))), 2).records) == FIGURE_1B


def test_records_without_a_vocabulary_are_published_as_numbers():
    encoded = Records.from_sets(FIGURE_1)
    without_vocabulary = Records(encoded.items, encoded.offsets, encoded.users)
    assert anonymize(without_vocabulary, 2).records[3:] == (frozenset({3, 4}),) * 2


@settings(max_examples=30)
@given(inputs(), PARAMS)
def test_every_method_and_grouper_keeps_all_guarantees(data, params):
    sets, given_users = data
    users = list(range(len(sets))) if given_users is None else given_users
    best = optimum(sets, users, **params)
    for method in METHODS:
        for grouper in (None, *GROUPERS):
            result = anonymize(sets, users=given_users, method=method, grouper=grouper, **params)
            check(sets, users, result, params)
            cost = result.cost.total
            assert result.lower_bound <= best <= cost
            assert result.proven_optimal is (cost <= result.lower_bound)
            assert not result.proven_optimal or cost == best
            assert result.factor >= cost / best if best else result.factor in (1.0, float("inf"))


@given(inputs(), PARAMS)
def test_the_default_and_the_exact_grouper_are_optimal_for_few_records(data, params):
    sets, given_users = data
    users = list(range(len(sets))) if given_users is None else given_users
    best = optimum(sets, users, **params)
    for options in ({}, {"grouper": "exact"}, {"method": "paper", "grouper": "exact"}):
        result = anonymize(sets, users=given_users, **params, **options)
        assert result.proven_optimal
        assert result.cost.total == result.lower_bound == best
        assert result.factor == 1.0


@settings(max_examples=50)
@given(inputs(), PARAMS)
def test_verify_rejects_exactly_the_mutations_that_break_definition_1(data, params):
    sets, given_users = data
    users = list(range(len(sets))) if given_users is None else given_users
    published = anonymize(sets, users=given_users, **params).records
    for position, record in enumerate(published):
        for item in range(6 if record is not None else 0):
            mutated = [*published]
            mutated[position] = record ^ {item}
            groups = {}
            for other, user in zip(mutated, users, strict=True):
                if other is not None:
                    groups.setdefault(other, set()).add(user)
            anonymous = all(len(group) >= params["k"] for group in groups.values())
            assert verify(mutated, params["k"], users=users).ok is anonymous
            assert not anonymous or item != 5  # no other record has item 5


def test_an_item_of_fewer_than_k_owners_is_published_only_if_min_owners_allows_it():
    # Two of three users have "rare": a majority, but fewer than k = 3 owners.
    sets = [{"tea", "rare"}, {"tea", "rare"}, {"tea"}]
    assert anonymize(sets, 3).records == (frozenset({"tea"}),) * 3
    for min_owners in (0, 1, 2):
        assert (
            anonymize(sets, 3, min_owners=min_owners).records == (frozenset({"tea", "rare"}),) * 3
        )


def test_owners_are_distinct_users_not_records():
    sets = [{"a", "b"}, {"a", "b"}, {"a", "b"}, {"a"}]
    result = anonymize(sets, 2, users=["u", "u", "u", "v"])
    assert set(result.records) == {frozenset("a")}
    assert anonymize(sets, 2, users=["u", "u", "v", "v"]).cost.total <= 1


def test_many_records_of_one_user_are_withdrawn():
    result = anonymize([{"a"}] * 5, 2, users=["u"] * 5)
    assert result.records == (None,) * 5
    assert (result.cost.deletions, result.cost.withdrawals) == (5, 5)


def test_empty_records_are_withdrawn_with_a_warning():
    result = anonymize([{"a"}, set(), {"a"}, set()], 2)
    assert result.records == (frozenset("a"), None, frozenset("a"), None)
    assert result.cost.withdrawals == 2
    assert any("2 empty records were withdrawn" in warning for warning in result.warnings)


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("grouper", [None, *GROUPERS])
def test_with_fewer_than_k_users_all_records_are_withdrawn_with_a_warning(
    operations, method, grouper
):
    result = anonymize(
        [{"a"}, {"a", "b"}], 3, operations=operations, method=method, grouper=grouper
    )
    assert result.records == (None, None)
    assert result.groups == ()
    assert (result.cost.total, result.cost.withdrawals) == (3, 2)
    assert any("Every record was withdrawn" in warning for warning in result.warnings) or (
        operations == "additions" and any("min_owners" in warning for warning in result.warnings)
    )


def test_with_additions_only_records_with_rare_items_are_withdrawn_with_a_warning():
    sets = [{"a"}, {"a"}, {"a", "rare"}]
    result = anonymize(sets, 2, operations="additions")
    assert result.records == (frozenset("a"), frozenset("a"), None)
    assert any("1 records were withdrawn" in warning for warning in result.warnings)
    unrestricted = anonymize(sets, 2, operations="additions", min_owners=0)
    assert None not in unrestricted.records
    assert unrestricted.warnings == ()


@pytest.mark.parametrize("grouper", [None, "star", "suppression"])
def test_improvements_keep_all_guarantees_on_larger_inputs(grouper):
    sets = [frozenset({i % 3, 3 + i % 5, 8 + (i * i) % 7}) for i in range(40)]
    users = [(i * 7) % 23 for i in range(40)]
    for operations in OPERATIONS:
        params = {"k": 3, "operations": operations, "min_owners": None}
        result = anonymize(sets, users=users, grouper=grouper, **params)
        check(sets, users, result, params)
        assert result.lower_bound <= result.cost.total


def test_user_numbers_may_have_large_gaps():
    sets = [{1, 2}, {1, 2}, {1, 3}, {1, 3}]
    dense = Records.from_sets(sets)
    sparse = replace(dense, users=np.array([7, 2**31 - 1, 0, 2**30]))

    assert anonymize(sparse, k=2).records == anonymize(dense, k=2).records


def test_the_defaults_are_those_of_params():
    assert anonymize(FIGURE_1, 2).params == Params(2)


@pytest.mark.parametrize("name", ["to_list", "to_frame"])
def test_only_collections_with_both_methods_of_a_series_are_read_as_one(name):
    records = type("Lists", (list,), {name: None})([{"a"}, {"a"}])
    result = anonymize(records, k=2)
    assert [set(record) for record in result.records] == [{"a"}, {"a"}]
