"""Steps from query to query and refinements, against counts by hand."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.query_texts import THREADS, texts_of

from setanon_core.utility.measures import Versions
from setanon_core.utility.refinements import (
    Step,
    kept_counts,
    refinement_measures,
    refinements,
    similarity,
    step_counts,
    top,
)

COUNTS = st.lists(st.integers(0, 50), min_size=5, max_size=5).map(np.asarray)


def step_by_hand(before, after):
    removed, added = set(before) - set(after), set(after) - set(before)
    if not removed and not added:
        return Step.REPETITION
    if not set(before) & set(after):
        return Step.NEW
    if not removed:
        return Step.SPECIALIZATION
    return Step.SUBSTITUTION if added else Step.GENERALIZATION


@settings(max_examples=100)
@given(THREADS)
def test_steps_and_refinements_equal_those_counted_by_hand(threads):
    pairs = [pair for queries in threads for pair in pairwise(queries)]
    kinds = Counter(step_by_hand(*pair) for pair in pairs)
    expected = Counter(
        (tuple(sorted(set(a) - set(b))), tuple(sorted(set(b) - set(a))))
        for a, b in pairs
        if step_by_hand(a, b) not in {Step.REPETITION, Step.NEW}
    )

    assert step_counts(texts_of(threads)).tolist() == [kinds[kind] for kind in Step]
    assert refinements(texts_of(threads)) == expected


def test_one_example_of_each_kind_of_step():
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
def test_similarity_is_one_minus_the_total_variation_distance(original, other):
    if original.any() and other.any():
        distance = abs(original / original.sum() - other / other.sum()).sum() / 2
        assert similarity(original, other) == pytest.approx(1 - distance)
        assert similarity(original, 3 * original) == 1
        assert kept_counts(original, 3 * original) == 1
        assert kept_counts(original, 0 * original) == similarity(original, 0 * original) == 0


@given(THREADS)
def test_an_identical_release_scores_1_and_an_empty_one_0(threads):
    texts = texts_of(threads)
    shares = {f"steps: {kind.name.lower()}" for kind in Step}

    for each in refinement_measures(Versions(texts, texts, texts_of([]))):
        if each.cases and each.name not in shares:
            assert each.original == each.release == pytest.approx(1)
            assert each.paper == 0
        if not each.cases:
            assert np.isnan([each.original, each.release]).all()


def test_equally_frequent_refinements_are_sorted_by_words():
    counts = Counter({((), ("b",)): 2, ((), ("a",)): 2, (("z",), ()): 3})

    assert top(counts, 2) == [(("z",), ()), ((), ("a",))]
