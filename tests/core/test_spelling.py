"""One spelling for each item of a group: what the columns say, said again with dictionaries."""

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
        np.array([item for own in sets for item in own], np.int64), np.cumsum([0, *map(len, sets)])
    )


@st.composite
def logs(draw):
    """Threads of word numbers, words merged into items at random, users, groups with centers."""
    classes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=9))
    ranks = {name: rank for rank, name in enumerate(sorted(set(classes)))}
    item = [ranks[name] for name in classes]
    words = st.lists(st.integers(0, len(item) - 1), max_size=5)
    threads = draw(st.lists(st.lists(words, max_size=3), min_size=1, max_size=8))
    n = len(threads)
    users = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    wanted = draw(st.lists(st.integers(WITHDRAWN, 2), min_size=n, max_size=n))
    labels, centers = list(wanted), []
    for label in sorted({label for label in wanted if label != WITHDRAWN}):
        members = [thread for thread in range(n) if wanted[thread] == label]
        held = sorted({item[w] for t in members for query in threads[t] for w in query})
        center = sorted(draw(st.sets(st.sampled_from(held), min_size=1))) if held else []
        for thread in members:
            labels[thread] = len(centers) if center else WITHDRAWN
        if center:
            centers.append(center)
    return item, threads, users, labels, centers


def columns_of(item, threads, users):
    rows = [(thread, query) for thread, own in enumerate(threads) for query in own]
    typed = queries_of(rows)
    owner = np.array(users)[typed.threads[typed.rows]]
    names = [f"w{word}" for word in range(len(item))]
    return typed, keywords_of(names, np.array(item), typed.words, owner)


def owners_of(item, threads, users):
    typists = [set() for _ in item]
    for own, user in zip(threads, users, strict=True):
        for query in own:
            for word in query:
                typists[word].add(user)
    return [len(own) for own in typists]


def spellings_by_hand(log, least):
    """For each item of each center its keyword, and the keywords of threads that it replaces."""
    item, threads, users, labels, centers = log
    owners = owners_of(item, threads, users)
    chosen, replaced = [], 0
    for row, center in enumerate(centers):
        members = [own for own, label in zip(threads, labels, strict=True) if label == row]
        held = [{word for query in own for word in query} for own in members]
        for wanted in center:
            uses = Counter(word for own in held for word in own if item[word] == wanted)
            common = {word: times for word, times in uses.items() if owners[word] >= least}
            # Of equals the first of the vocabulary.
            if common:
                best = min(common, key=lambda word: (-common[word], word))
            else:
                every = [word for word in range(len(item)) if item[word] == wanted]
                best = min(every, key=lambda word: (-owners[word], word))
            chosen.append(best)
            replaced += sum(times for word, times in uses.items() if word != best)
    return chosen, replaced


@given(logs())
def test_owners_of_keywords_and_items_are_counted_by_users(log):
    item, threads, users, _, _ = log

    _, keywords = columns_of(item, threads, users)

    owners = owners_of(item, threads, users)
    assert keywords.owners.tolist() == owners
    assert keywords.item_owners.tolist() == [
        max(held for held, own in zip(owners, item, strict=True) if own == number)
        for number in range(max(item) + 1)
    ]


def test_an_item_whose_keywords_have_few_owners_each_has_few_owners():
    keywords = Keywords(["ab", "ba", "c"], np.array([0, 0, 1]), np.array([2, 2, 3]))

    assert keywords.item_owners.tolist() == [2, 3]
    assert Keywords([], np.empty(0, np.int64), np.empty(0, np.int64)).item_owners.tolist() == []


@given(logs(), st.integers(0, 4))
def test_the_spelling_is_the_most_common_of_the_group_with_enough_owners(log, least):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)

    chosen, replaced = common_spellings(typed, keywords, np.array(labels), sets_of(centers), least)

    assert (chosen.tolist(), replaced) == spellings_by_hand(log, least)
    assert [item[word] for word in chosen] == [own for center in centers for own in center]


@given(logs(), st.integers(0, 4))
def test_whoever_is_published_was_typed_by_least_users_if_any_keyword_of_the_item_was(log, least):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)

    chosen, _ = common_spellings(typed, keywords, np.array(labels), sets_of(centers), least)

    owners = owners_of(item, threads, users)
    for word in chosen.tolist():
        if keywords.item_owners[item[word]] >= least:
            assert owners[word] >= least


def test_a_rare_spelling_gives_way_to_one_from_outside_the_group():
    item, users = [0, 0], [0, 1, 2, 3, 4]
    threads = [[[1]], [[1]], [[0]], [[0]], [[0]]]
    typed, keywords = columns_of(item, threads, users)
    labels = np.array([0, 0, WITHDRAWN, WITHDRAWN, WITHDRAWN])

    def chosen(least):
        return common_spellings(typed, keywords, labels, sets_of([[0]]), least)

    assert [words.tolist() for words, _ in map(chosen, (2, 3))] == [[1], [0]]
    assert [replaced for _, replaced in map(chosen, (2, 3))] == [0, 2]


@pytest.mark.parametrize(("repeats", "expected"), [(1, 0), (9, 0)])
def test_a_thread_has_one_vote_however_often_it_repeats_a_spelling(repeats, expected):
    threads = [[[1] * repeats], [[0]], [[0]]]
    typed, keywords = columns_of([0, 0], threads, [0, 1, 2])

    chosen, replaced = common_spellings(typed, keywords, np.zeros(3, int), sets_of([[0]]), 0)

    assert chosen.tolist() == [expected]
    assert replaced == 1


@given(logs())
def test_what_survives_is_given_back_as_typed_and_what_is_added_as_the_common_spelling(log):
    item, threads, users, labels, centers = log
    typed, keywords = columns_of(item, threads, users)
    asked = Queries(np.array(item)[typed.words], typed.offsets, typed.threads)
    edited = edit_queries(asked, np.array(labels), sets_of(centers))
    common = -1 - np.arange(len(edited.words))  # a mark of its own for each place

    words = restore_typed_words(typed, keywords, edited, common).tolist()

    bounds = edited.offsets.tolist()
    for thread, label in enumerate(labels):
        published = [
            (word, edited.words[place], common[place])
            for query, (low, high) in enumerate(pairwise(bounds))
            if edited.threads[query] == thread
            for place, word in enumerate(words[low:high], start=low)
        ]
        center = set() if label == WITHDRAWN else set(centers[label])
        before = [word for query in threads[thread] for word in query if item[word] in center]
        assert [word for word, _, _ in published if word >= 0] == before
        for word, own, mark in published:
            if word < 0:
                assert word == mark
                assert own not in {item[known] for known in before}


def test_nothing_typed_needs_no_spelling():
    nothing = np.empty(0, np.int64)
    typed = queries_of([])
    keywords = keywords_of((), nothing, nothing, nothing)

    chosen, replaced = common_spellings(typed, keywords, nothing, sets_of([]), 2)

    assert (chosen.tolist(), replaced) == ([], 0)
    assert restore_typed_words(typed, keywords, typed, nothing).tolist() == []
