"""Shared lists: every list has k users, sets stay, and the result does not depend on the order."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core import InvalidParameterError, NotAnonymousError, ReleaseParams
from setanon_core.lists import share
from setanon_core.lists.share import share_lists
from setanon_core.model.queries import Queries


def queries_of(lists):
    """Queries of threads, given as lists of lists of word numbers."""
    rows = [(thread, query) for thread, queries in enumerate(lists) for query in queries]
    return Queries(
        np.array([word for _, query in rows for word in query], np.int64),
        np.cumsum([0, *(len(query) for _, query in rows)]),
        np.array([thread for thread, _ in rows], np.int64),
    )


def shared(members, k):
    """The lists after sharing; a member is (group, user, list)."""
    labels, users = (np.array([m[column] for m in members], np.int64) for column in (0, 1))
    queries = queries_of([own for _, _, own in members])
    result = share_lists(queries, labels, users, k)
    lists = defaultdict(list)
    for thread, query in result.queries.lists():
        lists[thread].append(tuple(query))
    published = [tuple(lists[thread]) for thread in range(len(members))]
    pairs = zip(members, published, strict=True)
    assert result.true_rows == sum(true_rows(own, new) for (_, _, own), new in pairs)
    return published


def true_rows(own, published):
    own, published = ([tuple(query) for query in queries] for queries in (own, published))
    return (Counter(own) & Counter(published)).total()


def words_of(queries):
    return {word for query in queries for word in query}


@st.composite
def groups(draw, k, max_threads=9, max_groups=3):
    """Members of groups of at least k users; all lists of a group have the same words."""
    members = []
    for group in range(draw(st.integers(1, max_groups))):
        center = draw(st.sets(st.integers(0, 5), min_size=1, max_size=3))
        words = st.lists(st.sampled_from(sorted(center)), min_size=1, max_size=2)
        queries = st.lists(words, max_size=3)
        extra = draw(st.lists(st.integers(0, k), max_size=max_threads - k))
        for user in [*range(k), *extra]:
            own = [tuple(query) for query in draw(queries)]
            missing = center - words_of(own)
            members.append((group, user, (*own, *([tuple(sorted(missing))] if missing else []))))
    return members


CASES = st.integers(2, 4).flatmap(lambda k: st.tuples(st.just(k), groups(k)))


@settings(max_examples=25)
@given(CASES)
def test_every_list_has_k_users_and_every_thread_keeps_its_set(case):
    k, members = case
    published = shared(members, k)

    users = defaultdict(set)
    own_users = defaultdict(set)
    for (group, user, own), queries in zip(members, published, strict=True):
        assert words_of(queries) == words_of(own)
        users[group, queries].add(user)
        own_users[group, own].add(user)
    assert min(map(len, users.values())) >= k
    for (group, _, own), queries in zip(members, published, strict=True):
        if len(own_users[group, own]) >= k:
            assert queries == own


@settings(max_examples=25)
@given(CASES)
def test_shared_lists_are_not_changed_by_sharing_again(case):
    k, members = case
    published = shared(members, k)
    again = [(group, user, new) for (group, user, _), new in zip(members, published, strict=True)]

    assert shared(again, k) == published


@settings(max_examples=25)
@given(CASES, st.randoms(use_true_random=False))
def test_order_of_threads_and_user_numbers_make_no_difference(case, random):
    k, members = case
    order = random.sample(range(len(members)), len(members))
    renamed = random.sample(range(20), 20)
    other = [(members[row][0], renamed[members[row][1]], members[row][2]) for row in order]

    def counted(rows):
        return Counter(
            (group, own, new) for (group, _, own), new in zip(rows, shared(rows, k), strict=True)
        )

    assert counted(members) == counted(other)


@settings(max_examples=25)
@given(CASES)
def test_groups_are_independent_of_each_other_and_of_the_memory_bound(case):
    k, members = case
    together = shared(members, k)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share, "PAIRS_AT_ONCE", 1)
        assert shared(members, k) == together
    for group in {group for group, _, _ in members}:
        rows = [row for row, member in enumerate(members) if member[0] == group]
        assert shared([members[row] for row in rows], k) == [together[row] for row in rows]


def test_most_common_word_order_is_published():
    a, b = (0, 1), (1, 0)
    members = [(0, user, queries) for user, queries in enumerate([[a], [a], [b]])]

    assert shared(members, 3) == [(a,), (a,), (a,)]


def test_lists_that_k_users_share_stay_and_others_get_the_nearest_list():
    q, r = (0,), (1, 0)
    one, two = (q, r), (q, q, r)
    members = [(0, user, one) for user in range(3)] + [(0, user, two) for user in range(3, 6)]
    members += [(0, 6, (q, q, q, r)), (0, 7, (r,))]

    assert shared(members, 3) == [one] * 3 + [two] * 3 + [two, one]


def test_members_without_a_shared_list_may_share_several_lists():
    q, r = (0,), (0, 0)
    short, long = [(q,), (q, q), (q,)], [(r,) * 7, (r,) * 8, (r,) * 8]
    members = [(0, user, queries) for user, queries in enumerate(short + long)]

    assert set(shared(members, 3)) == {(q,), (r,) * 8}


def test_threads_of_one_user_count_once():
    q = (0,)
    members = [(0, 0, (q,)), (0, 0, (q,)), (0, 1, (q, q)), (0, 2, (q, q))]

    assert len(set(shared(members, 3))) == 1


def test_lists_with_spellings_as_typed_are_refused():
    with pytest.raises(InvalidParameterError, match="Use format edited or sets"):
        ReleaseParams(2, spelling="as_typed")
    assert ReleaseParams(2, spelling="as_typed", format="edited").spelling == "as_typed"


def test_lists_of_fewer_than_k_users_are_refused_whatever_the_assignment_did(monkeypatch):
    members = [(0, user, ((1, 2),) * (user + 1)) for user in range(3)]
    assert len(set(shared(members, k=2))) == 1

    # Every member keeps its own list.
    monkeypatch.setattr(share, "assign_lists", lambda *_: np.array([2, 1, 0]))

    with pytest.raises(NotAnonymousError, match="must be shared by k = 2 users"):
        shared(members, k=2)
