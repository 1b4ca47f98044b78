"""Suggestions and completions, against counting by hand."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core.model.inputs import Log
from setanon_core.utility.measures import Versions
from setanon_core.utility.query_texts import HELD_OUT, QueryTexts, split_users
from setanon_core.utility.suggestions import (
    completions,
    coverage,
    hit_rate,
    next_queries,
    suggestion_measures,
)

# Few queries, so that several follow the same one, and one of them more often than another.
QUERY = st.sampled_from([("ash",), ("ash", "bog"), ("ash", "b"), ("ash", "cat"), ("cat", "ask")])
THREADS = st.lists(st.lists(QUERY, min_size=1, max_size=6), max_size=8)


def texts_of(threads):
    numbers = [number for number, own in enumerate(threads) for _ in own]
    return QueryTexts(np.asarray(numbers, np.int64), [query for own in threads for query in own])


def unrepeated(own):
    return [query for at, query in enumerate(own) if at == 0 or query != own[at - 1]]


def pairs_by_hand(threads, letters):
    """Of next queries, if `letters` is None; else of completions."""
    for own in map(unrepeated, threads):
        if letters is None:
            yield from pairwise(own)
        else:
            yield from (((q[0], q[1][:letters]), q) for q in own if len(q) > 1)


def rate_by_hand(trained, asked, at, letters):
    counts = defaultdict(Counter)
    for given_, answer in pairs_by_hand(trained, letters):
        counts[given_][answer] += 1
    cases = list(pairs_by_hand(asked, letters))
    hits = 0
    for given_, answer in cases:
        ranked = sorted(counts[given_], key=lambda each: (-counts[given_][each], each))
        hits += answer in ranked[:at]
    return hits / len(cases) if cases else float("nan")


def same(one, other):
    return one == other or (np.isnan(one) and np.isnan(other))


@settings(max_examples=150)
@given(THREADS, THREADS, st.sampled_from([None, 0, 1]), st.integers(1, 4))
def test_hit_rates_are_those_counted_by_hand(trained, asked, letters, at):
    both = texts_of(trained), texts_of(asked)
    pairs = next_queries(*both) if letters is None else completions(letters, *both)

    assert same(hit_rate(*pairs, at), rate_by_hand(trained, asked, at, letters))


@given(THREADS, THREADS)
def test_more_suggestions_never_hit_less_and_never_more_often_than_there_are_any(trained, asked):
    pairs = next_queries(texts_of(trained), texts_of(asked))
    rates = [hit_rate(*pairs, at) for at in range(6)]

    if len(pairs[1][0]):
        assert rates[0] == 0
        assert rates == sorted(rates)
        assert rates[-1] <= coverage(*pairs) <= 1
    else:
        assert np.isnan([*rates, coverage(*pairs)]).all()


@given(THREADS)
def test_enough_suggestions_from_the_very_threads_that_are_asked_for_hit_always(threads):
    for pairs in (
        next_queries(texts_of(threads), texts_of(threads)),
        completions(1, texts_of(threads), texts_of(threads)),
    ):
        assert same(hit_rate(*pairs, 100), 1.0 if len(pairs[1][0]) else float("nan"))


def test_what_followed_more_often_comes_first():
    often, seldom = [("pine",), ("pine", "z")], [("pine",), ("pine", "a")]
    trained = texts_of([often, seldom, often])

    assert hit_rate(*next_queries(trained, texts_of([often])), 1) == 1
    assert hit_rate(*next_queries(trained, texts_of([seldom])), 1) == 0


def test_equals_stand_in_the_order_of_their_keywords():
    trained = texts_of([[("pine",), ("pine", "b")], [("pine",), ("pine", "a")]])
    first, second = ([[("pine",), ("pine", word)]] for word in "ab")

    assert hit_rate(*next_queries(trained, texts_of(first)), 1) == 1
    assert hit_rate(*next_queries(trained, texts_of(second)), 1) == 0
    assert hit_rate(*next_queries(trained, texts_of(second)), 2) == 1


def test_a_repeated_query_is_no_next_query():
    trained = texts_of([[("pine",), ("pine",), ("pine", "straw")]])

    given_, answers = next_queries(trained)[0]

    assert len(given_) == len(answers) == 1


def test_an_empty_release_suggests_nothing_and_one_like_the_original_the_same():
    original = texts_of([[("pine",), ("pine", "straw")], [("tea",), ("tea", "pot")]])
    held_out = texts_of([[("pine",), ("pine", "straw")], [("oak",), ("oak", "tree")]])

    measures = suggestion_measures(Versions(original, original, texts_of([])), held_out)

    assert all(each.release == each.original and each.paper == 0 for each in measures)
    assert {each.name: each.original for each in measures}["next query: hits at 1"] == 0.5
    assert [each.cases for each in measures] == [2] * 12


def rows(log):
    return list(zip(log.users, log.times, log.queries, strict=True))


@given(st.lists(st.integers(0, 40), max_size=60))
def test_the_split_is_by_users_whatever_the_order_and_the_other_users(users):
    log = Log(users, list(range(len(users))), [f"q{n}" for n in range(len(users))])
    kept, held = split_users(log)

    assert sorted(rows(kept) + rows(held), key=lambda row: row[1]) == rows(log)
    assert not set(kept.users) & set(held.users)
    for user in set(users):
        alone = split_users(Log([user], [0], ["q"]))
        assert bool(alone[1].users) == (user in held.users)


@pytest.mark.parametrize("as_column", [list, np.asarray, tuple])
def test_about_one_user_in_five_is_held_out_of_any_kind_of_column(as_column):
    log = Log(as_column(range(2000)), as_column(range(2000)), [f"q{n}" for n in range(2000)])
    kept, held = split_users(log)

    assert len(kept.users) + len(held.users) == 2000
    assert len(held.users) == pytest.approx(2000 / HELD_OUT, rel=0.15)
    assert list(held.queries) == [f"q{n}" for n in held.users]
