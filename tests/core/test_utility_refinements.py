"""Steps from query to query, refinements and keyword frequencies, against counting by hand."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from setanon_core.utility.frequencies import (
    frequency_measures,
    kept_uses,
    rank_correlation,
    set_counts,
    thread_counts,
    top,
)
from setanon_core.utility.measures import Versions
from setanon_core.utility.query_texts import QueryTexts
from setanon_core.utility.refinements import (
    Step,
    kept_counts,
    refinement_measures,
    refinements,
    similarity,
    step_counts,
)
from setanon_core.utility.refinements import top as top_refinements

WORDS = st.sampled_from(["ash", "bog", "cat", "dew"])
QUERY = st.lists(WORDS, min_size=1, max_size=4).map(tuple)
THREADS = st.lists(st.lists(QUERY, min_size=1, max_size=4), max_size=8)
COUNTS = st.lists(st.integers(0, 50), min_size=5, max_size=5).map(np.asarray)


def texts_of(threads):
    numbers = [number for number, own in enumerate(threads) for _ in own]
    return QueryTexts(np.asarray(numbers, np.int64), [query for own in threads for query in own])


def step_by_hand(before, after):
    removed, added = set(before) - set(after), set(after) - set(before)
    if not removed and not added:
        return Step.REPETITION
    if not set(before) & set(after):
        return Step.NEW
    if not removed:
        return Step.SPECIALIZATION
    return Step.SUBSTITUTION if added else Step.GENERALIZATION


@settings(max_examples=150)
@given(THREADS)
def test_steps_and_refinements_are_those_found_by_hand(threads):
    pairs = [pair for own in threads for pair in pairwise(own)]
    kinds = Counter(step_by_hand(*pair) for pair in pairs)
    wanted = Counter(
        (tuple(sorted(set(a) - set(b))), tuple(sorted(set(b) - set(a))))
        for a, b in pairs
        if step_by_hand(a, b) not in {Step.REPETITION, Step.NEW}
    )

    assert step_counts(texts_of(threads)).tolist() == [kinds[kind] for kind in Step]
    assert refinements(texts_of(threads)) == wanted


def test_each_kind_of_step_has_its_example():
    thread = [
        ("pine",),
        ("pine", "straw"),
        ("straw", "pine", "pine"),
        ("straw",),
        ("straw", "hat"),
        ("straw", "bed"),
        ("tea",),
    ]

    assert step_counts(texts_of([thread, [("pine",)]])).tolist() == [1, 2, 1, 1, 1]


@given(COUNTS, COUNTS)
def test_likeness_is_one_minus_the_total_variation_distance(original, other):
    if original.any() and other.any():
        distance = abs(original / original.sum() - other / other.sum()).sum() / 2
        assert similarity(original, other) == pytest.approx(1 - distance)
        assert similarity(original, 3 * original) == 1
        assert kept_counts(original, 3 * original) == 1
        assert kept_counts(original, 0 * original) == similarity(original, 0 * original) == 0


@given(THREADS)
def test_a_release_like_the_original_scores_1_and_an_empty_one_0(threads):
    own, none = texts_of(threads), texts_of([])
    versions = Versions(own, own, none)
    counts = versions.map(thread_counts)
    measures = [
        *refinement_measures(versions),
        *frequency_measures(counts, "keywords", "threads"),
    ]

    for each in measures:
        if each.cases and each.name not in {f"steps: {kind.name.lower()}" for kind in Step}:
            assert each.original == each.release == pytest.approx(1)
            assert each.paper == 0
        if not each.cases:
            assert np.isnan([each.original, each.release]).all()


def test_equally_frequent_refinements_stand_in_the_order_of_their_words():
    counts = Counter({((), ("b",)): 2, ((), ("a",)): 2, (("z",), ()): 3})

    assert top_refinements(counts, 2) == [(("z",), ()), ((), ("a",))]


@given(THREADS)
def test_a_keyword_counts_once_for_each_thread_that_has_it(threads):
    wanted = Counter(word for own in threads for word in {w for query in own for w in query})

    assert thread_counts(texts_of(threads)) == wanted
    assert set_counts([tuple(w for query in own for w in query) for own in threads]) == wanted
    assert top(wanted, 2) == sorted(wanted, key=lambda word: (-wanted[word], word))[:2]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_the_rank_correlation_is_scipys(pairs):
    one = {f"w{n}": a for n, (a, _) in enumerate(pairs)}
    other = {f"w{n}": b for n, (_, b) in enumerate(pairs) if b} | {"elsewhere": 3}
    here, there = zip(*pairs, strict=True)
    found = rank_correlation(one, other)

    if len(set(here)) > 1 and len(set(there)) > 1:
        assert found == pytest.approx(spearmanr(here, there).statistic)
    else:
        assert found == (len(set(here)) == len(set(there)) == 1 and there[0] > 0)


def test_uses_that_a_release_has_more_make_up_for_none_that_it_lacks():
    assert kept_uses({"a": 3, "b": 1}, {"a": 9, "c": 5}) == 0.75


def test_a_release_of_few_keywords_keeps_few_of_the_most_frequent():
    original = {f"w{n:03d}": 300 - n for n in range(200)}
    release = {name: count for name, count in original.items() if count > 250}
    measures = frequency_measures(Versions(original, release, {}), "keywords", "threads")

    found = {each.name: (each.release, each.paper, each.cases) for each in measures}

    assert found["keywords: top 100"] == (0.5, 0, 100)
    assert found["keywords: top 1,000"] == (0.25, 0, 200)
