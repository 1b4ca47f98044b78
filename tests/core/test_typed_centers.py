"""Centers that k users typed whole: brute force, deletions, certificates, and the exit guard."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import partitions
from support.strategies import records

from setanon_core import InvalidParameterError, NotAnonymousError, anonymize, verify
from setanon_core.columns.records import Records
from setanon_core.grouping import typed_centers as module
from setanon_core.grouping.superset_users import SupersetUsers
from setanon_core.grouping.typed_centers import typed_centers, typed_subsets
from setanon_core.params import Params, ReleaseParams
from setanon_core.pipeline import group_records


def users_with(sets, users, wanted):
    return len({user for user, each in zip(users, sets, strict=True) if wanted <= each})


def sets_of(data):
    names = data.vocabulary
    return [frozenset(names[i] for i in range(data.width) if m >> i & 1) for m in data.bitmasks()]


def subsets_of(items):
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


def typed_optimum(sets, users, k):
    """The cheapest partition into groups of k users, each with its cheapest typed center."""
    items = sorted(frozenset().union(*sets))
    typed = [frozenset(c) for c in subsets_of(items) if c and users_with(sets, users, set(c)) >= k]
    best = sum(map(len, sets))
    for blocks in partitions(range(len(sets))):
        cost = 0
        for block in blocks:
            withdrawn = sum(len(sets[i]) for i in block)
            if len({users[i] for i in block}) >= k:
                cost += min([withdrawn, *(sum(len(sets[i] ^ c) for i in block) for c in typed)])
            else:
                cost += withdrawn
        best = min(best, cost)
    return best


@settings(max_examples=40)
@given(
    records(max_records=5, max_items=4),
    st.integers(2, 3),
    st.sampled_from([None, 0]),
    st.sampled_from(["best", "paper"]),
)
def test_k_users_have_every_published_set_whole(data, k, min_owners, method):
    if not len(data):
        return
    sets, users = sets_of(data), data.users.tolist()
    result = anonymize(data, k, combinations="typed", min_owners=min_owners, method=method)

    published = {each for each in result.records if each is not None}
    assert all(users_with(sets, users, each) >= k for each in published)
    kept = [(s, u) for s, u in zip(result.records, users, strict=True) if s is not None]
    assert verify([s for s, _ in kept], k, users=[u for _, u in kept]).ok
    assert result.rounds[-1].cost == result.cost
    optimum = typed_optimum(sets, users, k)
    assert result.lower_bound <= optimum <= result.cost.total
    assert not result.proven_optimal or result.cost.total == optimum


@settings(max_examples=30)
@given(records(), st.integers(2, 3))
def test_deletions_publish_only_typed_sets_by_construction(data, k):
    if not len(data):
        return
    deletions = anonymize(data, k, operations="deletions")
    sets, users = sets_of(data), data.users.tolist()
    assert all(users_with(sets, users, each) >= k for each in deletions.records if each)
    typed = anonymize(data, k, operations="deletions", combinations="typed")
    assert typed.records == deletions.records


WEIGHTED = st.lists(st.integers(1, 4), min_size=2, max_size=5)


@settings(max_examples=80)
@given(records(max_records=9), WEIGHTED, st.integers(2, 3), st.sampled_from([256, 1]))
def test_subsets_are_the_heaviest_typed_ones(data, weights, k, max_tried):
    center = np.arange(len(weights))
    data = Records.from_columns(data.items, data.offsets, data.users, range(data.width))
    sets, users = sets_of(data), data.users.tolist()

    def weight(chosen):
        return sum(weights[item] for item in chosen)

    typed = [c for c in subsets_of(center.tolist()) if users_with(sets, users, set(c)) >= k]
    typed = [c for c in typed if 0 < len(c) < len(center)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_TRIED", max_tried)
        [found] = typed_subsets(SupersetUsers(data), [center], [np.array(weights)], k)
    chosen = tuple(found.tolist())
    if users_with(sets, users, set(center.tolist())) >= k:
        return  # not called for typed centers
    assert chosen in typed if typed else not chosen
    if max_tried > 1:
        assert weight(chosen) == max(map(weight, typed), default=0)
    else:
        # Grown one by one: no item can be added.
        assert not any(set(chosen) < set(c) for c in typed)


def test_a_majority_center_that_nobody_has_is_replaced():
    sets = [{"a", "b"}, {"b", "c"}, {"a", "c"}]
    assert anonymize(sets, 3, min_owners=0).records == (frozenset("abc"),) * 3
    assert anonymize(sets * 2, 3, combinations="typed").cost.withdrawals == 0
    assert len({*anonymize(sets * 2, 3, combinations="typed").records}) < 3
    assert all(len(s) == 1 for s in anonymize(sets * 2, 3, combinations="typed").records)


def test_lower_bound_of_typed_sets_is_the_optimum_of_any_sets():
    """The cheapest groups have the centers ab and ac, which only two users have."""
    sets = [{"a", "b"}, {"b", "c"}, {"a", "c"}] * 2
    best, typed = anonymize(sets, 3), anonymize(sets, 3, combinations="typed")
    assert (best.cost.total, best.proven_optimal) == (4, True)
    assert (typed.lower_bound, typed.cost.total, typed.proven_optimal) == (4, 6, False)


def test_records_move_to_the_nearest_typed_center():
    """The center ab of the first group becomes b, so that cde is nearer to the third record."""
    sets = [{*"ab"}, {*"a"}, {*"bcde"}, {*"cde"}, {*"cde"}]
    data, rows = Records.from_sets(sets), np.array([0, 0, 0, 1, 1])
    moved, centers = typed_centers(
        data, rows, Records.from_sets([{0, 1}, {2, 3, 4}]).sets, Params(2)
    )
    assert [centers.take(moved[i : i + 1]).items.tolist() for i in (0, 2)] == [[1], [2, 3, 4]]


def test_untyped_centers_are_refused_whatever_the_replacement_did(monkeypatch):
    def unchanged(_records, rows, centers, _params):
        return rows, centers

    monkeypatch.setattr(group_records, "typed_centers", unchanged)
    sets = [{"a", "b"}, {"b", "c"}, {"a", "c"}] * 2
    with pytest.raises(NotAnonymousError, match=r"k = 4 users must contain .*; 1 sets"):
        anonymize(sets, 4, combinations="typed")


def test_typed_combinations_need_deletions_and_exact_keywords():
    with pytest.raises(InvalidParameterError, match="operations must be both or deletions"):
        Params(3, operations="additions", combinations="typed")
    with pytest.raises(InvalidParameterError, match="identity must be exact"):
        ReleaseParams(3, identity="minhash", combinations="typed")


def test_the_result_does_not_depend_on_the_order_of_records():
    rng = np.random.default_rng(3)
    sets = [set(rng.integers(0, 9, 4).tolist()) for _ in range(30)]
    order = rng.permutation(30).tolist()
    first = anonymize(Records.from_sets(sets), 3, combinations="typed")
    second = anonymize(Records.from_sets([sets[n] for n in order]), 3, combinations="typed")
    assert first.cost == second.cost
    assert sorted(map(sorted, filter(None, first.records))) == sorted(
        map(sorted, filter(None, second.records))
    )
