"""Edits: deletions and additions turn the queries of a thread into its center, in good places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns.sets import Sets
from setanon_core.edits import edit_queries
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Queries

WORDS = ["animal", "county", "dekston", "humane", "mulch", "pine", "shelter", "society", "straw"]


def queries_of(threads):
    """Threads as lists of query texts, by thread number."""
    rows = [(number, text.split()) for number, own in enumerate(threads) for text in own]
    return Queries(
        np.array([WORDS.index(word) for _, query in rows for word in query], np.int64),
        np.cumsum([0, *(len(query) for _, query in rows)]),
        np.array([number for number, _ in rows], np.int64),
    )


def centers_of(*sets):
    items = [sorted(WORDS.index(word) for word in center.split()) for center in sets]
    return Sets(
        np.array([item for own in items for item in own], np.int64),
        np.cumsum([0, *map(len, items)]),
    )


def edited(threads, labels, *centers):
    found = edit_queries(queries_of(threads), np.array(labels), centers_of(*centers))
    return [(thread, " ".join(WORDS[word] for word in query)) for thread, query in found.lists()]


def test_every_occurrence_of_a_deleted_word_leaves_and_empty_queries_disappear():
    threads = [["pine straw dekston", "dekston", "dekston straw pine dekston"]]

    assert edited(threads, [0], "pine straw") == [(0, "pine straw"), (0, "straw pine")]


def test_an_added_word_goes_between_the_neighbours_that_it_has_elsewhere():
    threads = [
        ["dekston county animal shelter"],
        ["humane society", "dekston animal shelter"],
        ["dekston county humane society", "dekston county animal shelter"],
    ]
    center = "animal county dekston humane shelter society"

    found = edited(threads, [0, 0, 0], center)

    assert (1, "dekston county animal shelter") in found
    assert (1, "humane society") in found


def test_a_word_that_others_have_at_the_end_is_added_at_the_end():
    threads = [["pine straw mulch"], ["straw pine mulch"], ["pine straw"]]

    assert edited(threads, [0, 0, 0], "mulch pine straw")[2] == (2, "pine straw mulch")


def test_a_thread_left_without_queries_gets_one_of_what_is_added():
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
def test_published_words_are_the_center_and_what_stays_keeps_its_order(threads, centers, data):
    choices = st.integers(WITHDRAWN, len(centers) - 1)
    labels = data.draw(st.lists(choices, min_size=len(threads), max_size=len(threads)))

    found = edited(threads, labels, *centers)

    for number, (own, label) in enumerate(zip(threads, labels, strict=True)):
        published = [text.split() for thread, text in found if thread == number]
        if label == WITHDRAWN:
            assert published == []
            continue
        center = set(centers[label].split())
        assert {word for query in published for word in query} == center
        before = [word for text in own for word in text.split() if word in center]
        had = set(before)
        added = center - had
        after = [word for query in published for word in query]
        assert [word for word in after if word in had] == before
        assert sorted(word for word in after if word in added) == sorted(added)


@pytest.mark.parametrize("seed", range(3))
def test_threads_that_lack_nothing_keep_their_very_queries(seed):
    rng = np.random.default_rng(seed)
    threads = [[" ".join(rng.choice(WORDS, 3)) for _ in range(3)] for _ in range(4)]
    centers = [" ".join(sorted({word for text in own for word in text.split()})) for own in threads]

    found = edited(threads, [0, 1, 2, 3], *centers)

    assert [text for _, text in found] == [text for own in threads for text in own]
