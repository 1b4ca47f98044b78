"""Published spellings of items, computed a second time with dictionaries."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import keywords_of

from setanon_core.columns.sets import Sets
from setanon_core.edits import edit_queries
from setanon_core.keywords.spelling import common_spellings, restore_typed_words
from setanon_core.model.groups import WITHDRAWN
from setanon_core.model.queries import Keywords, Queries


def queries_of(rows):
    return Queries(
        np.array([word for _, query in rows for word in query], np.int64),
        np.cumsum([0, *(len(query) for _, query in rows)]),
        np.array([thread for thread, _ in rows], np.int64),
    )


def sets_of(sets):
    return Sets(
        np.array([item for members in sets for item in members], np.int64),
        np.cumsum([0, *map(len, sets)]),
    )


@st.composite
def logs(draw):
    """Items of words, threads of words, users, group labels and centers, all random."""
    classes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=9))
    ranks = {name: rank for rank, name in enumerate(sorted(set(classes)))}
    item = [ranks[name] for name in classes]
    words = st.lists(st.integers(0, len(item) - 1), max_size=5)
    threads = draw(st.lists(st.lists(words, max_size=3), min_size=1, max_size=8))
    n = len(threads)
    users = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    drawn = draw(st.lists(st.integers(WITHDRAWN, 2), min_size=n, max_size=n))
    labels, centers = list(drawn), []
    for label in sorted({label for label in drawn if label != WITHDRAWN}):
        members = [thread for thread in range(n) if drawn[thread] == label]
        items = sorted({item[w] for t in members for query in threads[t] for w in query})
        center = sorted(draw(st.sets(st.sampled_from(items), min_size=1))) if items else []
        for thread in members:
            labels[thread] = len(centers) if center else WITHDRAWN
        if center:
            centers.append(center)
    return item, threads, users, labels, centers


def columns_of(item, threads, users):
    rows = [(thread, query) for thread, queries in enumerate(threads) for query in queries]
    typed = queries_of(rows)
    owner = np.array(users)[typed.threads[typed.rows]]
    names = [f"w{word}" for word in range(len(item))]
    return typed, keywords_of(names, np.array(item), typed.words, owner)


def count_owners(item, threads, users):
    owners = [set() for _ in item]
    for queries, user in zip(threads, users, strict=True):
        for query in queries:
            for word in query:
                owners[word].add(user)
    return list(map(len, owners))


def expected_spellings(log, min_owners):
    """The keyword for each item of each center, and the number of replaced thread keywords."""
    item, threads, users, labels, centers = log
    owners = count_owners(item, threads, users)
    chosen, replaced = [], 0
    for row, center in enumerate(centers):
        members = [thread for thread, label in zip(threads, labels, strict=True) if label == row]
        words = [{word for query in queries for word in query} for queries in members]
        for number in center:
            uses = Counter(word for distinct in words for word in distinct if item[word] == number)
            common = {word: count for word, count in uses.items() if owners[word] >= min_owners}
            # Ties: the first keyword of the vocabulary.
            if common:
                best = min(common, key=lambda word: (-common[word], word))
            else:
                candidates = [word for word in range(len(item)) if item[word] == number]
                best = min(candidates, key=lambda word: (-owners[word], word))
            chosen.append(best)
            replaced += sum(count for word, count in uses.items() if word != best)
    return chosen, replaced


@given(logs())
def test_owners_are_distinct_users(log):
    item, threads, users, _, _ = log

    _, keywords = columns_of(item, threads, users)

    owners = count_owners(item, threads, users)
    assert keywords.owners.tolist() == owners
    assert keywords.item_owners.tolist() == [
        max(count for count, other in zip(owners, item, strict=True) if other == number)
        for number in range(max(item) + 1)
    ]


def test_item_has_as_many_owners_as_its_most_owned_keyword():
    keywords = Keywords(["ab", "ba", "c"], np.array([0, 0, 1]), np.array([2, 2, 3]))

    assert keywords.item_owners.tolist() == [2, 3]
    assert Keywords([], np.empty(0, np.int64), np.empty(0, np.int64)).item_owners.tolist() == []


@given(logs(), st.integers(0, 4))
def test_spelling_is_the_most_common_of_the_group_with_enough_owners(log, min_owners):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)

    chosen, replaced = common_spellings(
        typed, keywords, np.array(labels), sets_of(centers), min_owners
    )

    assert (chosen.tolist(), replaced) == expected_spellings(log, min_owners)
    assert [item[word] for word in chosen] == [number for center in centers for number in center]


@given(logs(), st.integers(0, 4))
def test_published_keyword_has_min_owners_if_any_keyword_of_the_item_has(log, min_owners):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)

    chosen, _ = common_spellings(typed, keywords, np.array(labels), sets_of(centers), min_owners)

    owners = count_owners(item, threads, users)
    for word in chosen.tolist():
        if keywords.item_owners[item[word]] >= min_owners:
            assert owners[word] >= min_owners


def test_rare_spelling_is_replaced_by_one_from_outside_the_group():
    item, users = [0, 0], [0, 1, 2, 3, 4]
    threads = [[[1]], [[1]], [[0]], [[0]], [[0]]]
    typed, keywords = columns_of(item, threads, users)
    labels = np.array([0, 0, WITHDRAWN, WITHDRAWN, WITHDRAWN])

    def spellings(min_owners):
        return common_spellings(typed, keywords, labels, sets_of([[0]]), min_owners)

    assert [words.tolist() for words, _ in map(spellings, (2, 3))] == [[1], [0]]
    assert [replaced for _, replaced in map(spellings, (2, 3))] == [0, 2]


@pytest.mark.parametrize("repeats", [1, 9])
def test_repeats_within_a_thread_count_once(repeats):
    threads = [[[1] * repeats], [[0]], [[0]]]
    typed, keywords = columns_of([0, 0], threads, [0, 1, 2])

    chosen, replaced = common_spellings(typed, keywords, np.zeros(3, int), sets_of([[0]]), 0)

    assert chosen.tolist() == [0]
    assert replaced == 1


@given(logs())
def test_kept_words_are_restored_as_typed_and_added_words_are_common_spellings(log):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)
    items = Queries(np.array(item)[typed.words], typed.offsets, typed.threads)
    edited = edit_queries(items, np.array(labels), sets_of(centers))
    common = -1 - np.arange(len(edited.words))  # a unique negative number per position

    words = restore_typed_words(typed, keywords, edited, common).tolist()

    bounds = edited.offsets.tolist()
    for thread, label in enumerate(labels):
        published = [
            (word, edited.words[position], common[position])
            for query, (low, high) in enumerate(pairwise(bounds))
            if edited.threads[query] == thread
            for position, word in enumerate(words[low:high], start=low)
        ]
        center = set() if label == WITHDRAWN else set(centers[label])
        before = [word for query in threads[thread] for word in query if item[word] in center]
        assert [word for word, _, _ in published if word >= 0] == before
        for word, added_item, number in published:
            if word < 0:
                assert word == number
                assert added_item not in {item[known] for known in before}


def test_empty_log_needs_no_spelling():
    empty = np.empty(0, np.int64)
    typed = queries_of([])
    keywords = keywords_of((), empty, empty, empty)

    chosen, replaced = common_spellings(typed, keywords, empty, sets_of([]), 2)

    assert (chosen.tolist(), replaced) == ([], 0)
    assert restore_typed_words(typed, keywords, typed, empty).tolist() == []
