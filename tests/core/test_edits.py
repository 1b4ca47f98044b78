"""Edits: the words of a thread become its center; where words are inserted and what remains."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core import NotAnonymousError, edits
from setanon_core.columns.sets import Sets
from setanon_core.edits import edit_queries
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Queries

WORDS = ["animal", "county", "dekston", "humane", "mulch", "pine", "shelter", "society", "straw"]


def queries_of(threads):
    """Queries of threads, given as lists of texts."""
    rows = [(number, text.split()) for number, texts in enumerate(threads) for text in texts]
    return Queries(
        np.array([WORDS.index(word) for _, query in rows for word in query], np.int64),
        np.cumsum([0, *(len(query) for _, query in rows)]),
        np.array([number for number, _ in rows], np.int64),
    )


def centers_of(*sets):
    items = [sorted(WORDS.index(word) for word in center.split()) for center in sets]
    return Sets(
        np.array([item for center in items for item in center], np.int64),
        np.cumsum([0, *map(len, items)]),
    )


def edited(threads, labels, *centers):
    queries = edit_queries(queries_of(threads), np.array(labels), centers_of(*centers))
    return [(thread, " ".join(WORDS[word] for word in query)) for thread, query in queries.lists()]


def test_every_occurrence_of_a_deleted_word_and_empty_queries_are_removed():
    threads = [["pine straw dekston", "dekston", "dekston straw pine dekston"]]

    assert edited(threads, [0], "pine straw") == [(0, "pine straw"), (0, "straw pine")]


def test_an_added_word_is_inserted_between_its_neighbours_in_other_threads():
    threads = [
        ["dekston county animal shelter"],
        ["humane society", "dekston animal shelter"],
        ["dekston county humane society", "dekston county animal shelter"],
    ]
    center = "animal county dekston humane shelter society"

    result = edited(threads, [0, 0, 0], center)

    assert (1, "dekston county animal shelter") in result
    assert (1, "humane society") in result


def test_a_word_at_the_end_in_other_threads_is_inserted_at_the_end():
    threads = [["pine straw mulch"], ["straw pine mulch"], ["pine straw"]]

    assert edited(threads, [0, 0, 0], "mulch pine straw")[2] == (2, "pine straw mulch")


def test_a_thread_without_remaining_queries_gets_one_with_the_added_words():
    threads = [["pine straw"], ["pine straw"], ["dekston county"]]

    assert edited(threads, [0, 0, 0], "pine straw")[2] == (2, "pine straw")


def test_withdrawn_threads_have_no_queries():
    assert edited([["pine"], ["straw"]], [WITHDRAWN, WITHDRAWN]) == []


THREADS = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), max_size=4),
    min_size=1,
    max_size=6,
)
CENTERS = st.lists(
    st.sets(st.sampled_from(WORDS), min_size=1, max_size=5).map(sorted).map(" ".join),
    min_size=1,
    max_size=3,
)


@given(THREADS, CENTERS, st.data())
def test_published_words_are_the_center_and_kept_words_keep_their_order(threads, centers, data):
    choices = st.integers(WITHDRAWN, len(centers) - 1)
    labels = data.draw(st.lists(choices, min_size=len(threads), max_size=len(threads)))

    result = edited(threads, labels, *centers)

    for number, (texts, label) in enumerate(zip(threads, labels, strict=True)):
        published = [text.split() for thread, text in result if thread == number]
        if label == WITHDRAWN:
            assert published == []
            continue
        center = set(centers[label].split())
        assert {word for query in published for word in query} == center
        before = [word for text in texts for word in text.split() if word in center]
        added = center - set(before)
        after = [word for query in published for word in query]
        assert [word for word in after if word not in added] == before
        assert sorted(word for word in after if word in added) == sorted(added)


@pytest.mark.parametrize("seed", range(3))
def test_threads_that_are_their_center_keep_their_queries(seed):
    rng = np.random.default_rng(seed)
    threads = [[" ".join(rng.choice(WORDS, 3)) for _ in range(3)] for _ in range(4)]
    centers = [
        " ".join(sorted({word for text in texts for word in text.split()})) for texts in threads
    ]

    result = edited(threads, [0, 1, 2, 3], *centers)

    assert [text for _, text in result] == [text for texts in threads for text in texts]


@pytest.mark.parametrize(
    ("faulty", "wrong"),
    [
        (lambda queries, *_: queries, 1),  # the word is not added
        (lambda queries, *_: replace(queries, words=queries.words * 0), 3),  # another word
    ],
)
def test_threads_whose_words_are_not_their_center_are_refused(monkeypatch, faulty, wrong):
    monkeypatch.setattr(edits, "_add_words", faulty)

    with pytest.raises(NotAnonymousError, match=f"must be its center; {wrong} words or threads"):
        edited([["pine", "straw"], ["pine straw mulch"]], [0, 0], "pine straw mulch")
