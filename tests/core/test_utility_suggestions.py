"""Suggestions and completions, against counts by hand; the split into held-out users."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.query_texts import texts_of

from setanon_core.model.inputs import Log
from setanon_core.utility.measures import Versions
from setanon_core.utility.query_texts import HELD_OUT, split_users
from setanon_core.utility.suggestions import (
    completions,
    coverage,
    hit_rate,
    next_queries,
    suggestion_measures,
)

# Few queries, so that several follow the same one, with different frequencies.
QUERY = st.sampled_from([("ash",), ("ash", "bog"), ("ash", "b"), ("ash", "cat"), ("cat", "ask")])
THREADS = st.lists(st.lists(QUERY, min_size=1, max_size=6), max_size=8)


def without_repeats(queries):
    return [query for n, query in enumerate(queries) if n == 0 or query != queries[n - 1]]


def cases_by_hand(threads, letters):
    """Next queries if `letters` is None, else completions."""
    for queries in map(without_repeats, threads):
        if letters is None:
            yield from pairwise(queries)
        else:
            yield from (((q[0], q[1][:letters]), q) for q in queries if len(q) > 1)


def hit_rate_by_hand(training, test, size, letters):
    counts = defaultdict(Counter)
    for context, answer in cases_by_hand(training, letters):
        counts[context][answer] += 1
    cases = list(cases_by_hand(test, letters))
    hits = 0
    for context, answer in cases:
        ranked = sorted(counts[context], key=lambda each: (-counts[context][each], each))
        hits += answer in ranked[:size]
    return hits / len(cases) if cases else float("nan")


def equal(first, second):
    return first == second or (np.isnan(first) and np.isnan(second))


@settings(max_examples=100)
@given(THREADS, THREADS, st.sampled_from([None, 0, 1]), st.integers(1, 4))
def test_hit_rates_equal_those_counted_by_hand(training, test, letters, size):
    logs = texts_of(training), texts_of(test)
    cases = next_queries(*logs) if letters is None else completions(letters, *logs)

    assert equal(hit_rate(*cases, size), hit_rate_by_hand(training, test, size, letters))


@given(THREADS, THREADS)
def test_hit_rates_grow_with_the_number_of_suggestions_up_to_the_coverage(training, test):
    cases = next_queries(texts_of(training), texts_of(test))
    rates = [hit_rate(*cases, size) for size in range(6)]

    if len(cases[1][0]):
        assert rates[0] == 0
        assert rates == sorted(rates)
        assert rates[-1] <= coverage(*cases) <= 1
    else:
        assert np.isnan([*rates, coverage(*cases)]).all()


@given(THREADS)
def test_all_suggestions_from_the_test_threads_themselves_always_hit(threads):
    for cases in (
        next_queries(texts_of(threads), texts_of(threads)),
        completions(1, texts_of(threads), texts_of(threads)),
    ):
        assert equal(hit_rate(*cases, 100), 1.0 if len(cases[1][0]) else float("nan"))


def test_more_frequent_answers_are_suggested_first():
    frequent, rare = [("pine",), ("pine", "z")], [("pine",), ("pine", "a")]
    training = texts_of([frequent, rare, frequent])

    assert hit_rate(*next_queries(training, texts_of([frequent])), 1) == 1
    assert hit_rate(*next_queries(training, texts_of([rare])), 1) == 0


def test_equally_frequent_answers_are_sorted_by_keywords():
    training = texts_of([[("pine",), ("pine", "b")], [("pine",), ("pine", "a")]])
    first, second = ([[("pine",), ("pine", word)]] for word in "ab")

    assert hit_rate(*next_queries(training, texts_of(first)), 1) == 1
    assert hit_rate(*next_queries(training, texts_of(second)), 1) == 0
    assert hit_rate(*next_queries(training, texts_of(second)), 2) == 1


def test_a_repeated_query_is_not_a_next_query():
    texts = texts_of([[("pine",), ("pine",), ("pine", "straw")]])

    contexts, answers = next_queries(texts)[0]

    assert len(contexts) == len(answers) == 1


def test_an_identical_release_suggests_the_same_and_an_empty_one_nothing():
    original = texts_of([[("pine",), ("pine", "straw")], [("tea",), ("tea", "pot")]])
    held_out = texts_of([[("pine",), ("pine", "straw")], [("oak",), ("oak", "tree")]])

    measures = suggestion_measures(Versions(original, original, texts_of([])), held_out)

    assert all(each.release == each.original and each.paper == 0 for each in measures)
    assert {each.name: each.original for each in measures}["next query: hits at 1"] == 0.5
    assert [each.cases for each in measures] == [2] * 12


def rows(log):
    return list(zip(log.users, log.times, log.queries, strict=True))


@given(st.lists(st.integers(0, 40), max_size=60))
def test_whether_a_user_is_held_out_depends_on_the_name_alone(users):
    log = Log(users, list(range(len(users))), [f"q{n}" for n in range(len(users))])
    kept, held_out = split_users(log)

    assert sorted(rows(kept) + rows(held_out), key=lambda row: row[1]) == rows(log)
    assert not set(kept.users) & set(held_out.users)
    for user in set(users):
        alone = split_users(Log([user], [0], ["q"]))
        assert bool(alone[1].users) == (user in held_out.users)


@pytest.mark.parametrize("as_column", [list, np.asarray, tuple])
def test_about_one_user_in_five_is_held_out(as_column):
    log = Log(as_column(range(2000)), as_column(range(2000)), [f"q{n}" for n in range(2000)])
    kept, held_out = split_users(log)

    assert len(kept.users) + len(held_out.users) == 2000
    assert len(held_out.users) == pytest.approx(2000 / HELD_OUT, rel=0.15)
    assert list(held_out.queries) == [f"q{n}" for n in held_out.users]
