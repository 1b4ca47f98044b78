"""Uniqueness of views, against a count of users per view."""

import pytest
from support.attacks import EXAMPLES, attack_data, words_of

from setanon_core import anonymize_log
from setanon_core.risk.attack_data import AttackData
from setanon_core.risk.views import view_uniqueness

VIEWS = {
    "set": words_of,
    "set and number of queries": lambda queries: (words_of(queries), len(queries)),
    "list of queries": tuple,
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_views_are_counted_as_in_the_definition(example):
    typed, published = example
    result = view_uniqueness(attack_data(typed, published, k=2))

    assert [counts.view for counts in result.views] == list(VIEWS)
    for counts in result.views:
        view = VIEWS[counts.view]
        users = {}
        for source, queries in published:
            users.setdefault(view(queries), set()).add(typed[source][0])
        sharing = [len(users[view(queries)]) for _, queries in published]
        assert counts.threads == len(published)
        assert counts.distinct == len(users)
        assert counts.below_k == sum(count < 2 for count in sharing)
        assert counts.single == sum(count == 1 for count in sharing)


def test_without_a_ledger_threads_are_counted():
    result = view_uniqueness(attack_data([("ann", ["a"])] * 2, k=2, ledger=False))

    assert result.ok
    assert "fewer than k = 2 threads" in result.sentence
    assert not view_uniqueness(attack_data([("ann", ["a"])] * 2, k=2)).ok


def test_three_users_of_one_set_with_different_lists():
    lists = [["a b"], ["b a"], ["a b"], ["a b", "a"]]
    set_view, count_view, list_view = view_uniqueness(
        attack_data(list(enumerate(lists)), k=3)
    ).views

    assert (set_view.below_k, set_view.single) == (0, 0)
    assert (count_view.below_k, count_view.single) == (1, 1)
    assert (list_view.below_k, list_view.single) == (4, 2)
    assert (list_view.below_k_share, list_view.single_share) == (1.0, 0.5)


LOG = [
    (f"u{user}", 100 * user + time, query)
    for user in range(6)
    for time, query in enumerate(["pine straw", "pine straw mulch"][: 1 + user % 2] * (1 + user))
]


@pytest.mark.parametrize(("form", "views"), [("edited", 3), ("queries", 3), ("sets", 1)])
def test_only_the_edited_form_has_lists_of_few_users(form, views):
    result = anonymize_log(LOG, k=3, format=form, secret=b"for tests only")
    uniqueness = view_uniqueness(AttackData.from_result(LOG, result))

    assert len(uniqueness.views) == views
    assert uniqueness.views[0].threads > 0
    assert uniqueness.views[0].below_k == 0
    if form == "edited":
        assert not uniqueness.ok
        assert uniqueness.views[2].single > 0
        assert "have a list of queries that fewer than k = 3 users have" in uniqueness.sentence
    else:
        assert uniqueness.ok


def test_empty_release():
    result = view_uniqueness(attack_data([("ann", ["a"])], []))

    assert result.ok
    assert result.sentence.startswith("0 of 0 published threads (0.0%)")
