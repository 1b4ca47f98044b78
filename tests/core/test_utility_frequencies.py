"""Keyword frequencies, against counts by hand and SciPy."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from support.query_texts import THREADS, texts_of

from setanon_core.utility.frequencies import (
    frequency_measures,
    kept_uses,
    rank_correlation,
    set_counts,
    thread_counts,
    top,
)
from setanon_core.utility.measures import Versions


@given(THREADS)
def test_a_keyword_counts_once_per_thread(threads):
    expected = Counter(word for queries in threads for word in {w for q in queries for w in q})

    assert thread_counts(texts_of(threads)) == expected
    assert set_counts([tuple(w for q in queries for w in q) for queries in threads]) == expected
    assert top(expected, 2) == sorted(expected, key=lambda word: (-expected[word], word))[:2]


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_the_rank_correlation_equals_that_of_scipy(pairs):
    original = {f"w{n}": count for n, (count, _) in enumerate(pairs)}
    other = {f"w{n}": count for n, (_, count) in enumerate(pairs) if count} | {"elsewhere": 3}
    counts, other_counts = zip(*pairs, strict=True)
    correlation = rank_correlation(original, other)

    if len(set(counts)) > 1 and len(set(other_counts)) > 1:
        assert correlation == pytest.approx(spearmanr(counts, other_counts).statistic)
    else:
        both_constant = len(set(counts)) == len(set(other_counts)) == 1
        assert correlation == (both_constant and other_counts[0] > 0)


def test_higher_counts_do_not_make_up_for_lower_counts():
    assert kept_uses({"a": 3, "b": 1}, {"a": 9, "c": 5}) == 0.75


def test_a_release_of_few_keywords_keeps_few_of_the_most_frequent():
    original = {f"w{n:03d}": 300 - n for n in range(200)}
    release = {word: count for word, count in original.items() if count > 250}
    measures = frequency_measures(Versions(original, release, {}), "keywords", "threads")

    values = {each.name: (each.release, each.paper, each.cases) for each in measures}

    assert values["keywords: top 100"] == (0.5, 0, 100)
    assert values["keywords: top 1,000"] == (0.25, 0, 200)


@given(THREADS)
def test_an_identical_release_scores_1_and_an_empty_one_0(threads):
    texts = texts_of(threads)
    counts = Versions(texts, texts, texts_of([])).map(thread_counts)

    for each in frequency_measures(counts, "keywords", "threads"):
        if each.cases:
            assert each.original == each.release == pytest.approx(1)
            assert each.paper == 0
        else:
            assert np.isnan([each.original, each.release]).all()
