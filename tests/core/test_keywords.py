"""What a keyword is, shown on queries of all kinds, and the laws that edits rely on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.keywords.items import item_names, items_of
from setanon_core.keywords.tokenize import tokenize, tokenize_all

ASCII = st.text(st.characters(max_codepoint=127))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Effects of Caffeine", ["effects", "of", "caffeine"]),
        ("don't dogs' 'tis O\u2019Neil can`t", ["don't", "dogs", "tis", "o'neil", "can't"]),
        ('+foods -"fast food" +proteins', ["foods", "fast", "food", "proteins"]),
        ("ashby, wx. (usa)", ["ashby", "wx", "usa"]),
        ("ashby,wx;pines", ["ashby", "wx", "pines"]),
        ("1,000 $5 3.5 24/7 2nd", ["1,000", "$5", "3.5", "24", "7", "2nd"]),
        ("c++ c# at&t e-mail x_y", ["c++", "c#", "at&t", "e-mail", "x_y"]),
        ("www.Example.com/A?b=1. example.org", ["www.example.com/a?b=1", "example.org"]),
        ("http://example.com/ (mirror)", ["http://example.com/", "mirror"]),
        ("me@example.com", ["me@example.com"]),
        ("\uff33\uff54\uff52a\u00dfe \ufb01nd", ["strasse", "find"]),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u5317\u4eac",
            ["\u0939\u093f\u0928\u094d\u0926\u0940", "\u5317\u4eac"],
        ),
        (
            "\u05e9\u05dc\u05d5\u05dd \u0639\u0627\u0644\u0645",
            ["\u05e9\u05dc\u05d5\u05dd", "\u0639\u0627\u0644\u0645"],
        ),
        ("\U0001f355 near me", ["\U0001f355", "near", "me"]),
        ("a\0b\tc\u00a0d", ["a", "b", "c", "d"]),
        ("... -- !?", []),
        ("", []),
    ],
)
def test_keywords_are_what_a_person_would_call_the_words(query, expected):
    assert tokenize(query) == expected


@given(st.text())
def test_keywords_joined_by_spaces_are_the_same_keywords(query):
    found = tokenize(query)

    assert tokenize(" ".join(found)) == found


@given(ASCII)
def test_the_quick_way_for_ascii_is_the_same_way(query):
    # A letter of another script at the end sends the whole query down the other path.
    assert tokenize(query + " \u03b1") == [*tokenize(query), "\u03b1"]


@given(st.lists(st.text(max_size=20), max_size=8))
def test_columns_hold_the_keywords_of_every_query_in_order(queries):
    words, bounds, vocabulary = tokenize_all(queries)

    assert list(vocabulary) == sorted(set(vocabulary))
    for query, low, high in zip(queries, bounds[:-1], bounds[1:], strict=True):
        assert [vocabulary[word] for word in words[low:high]] == tokenize(query)


def test_another_tokenizer_takes_its_place():
    words, bounds, vocabulary = tokenize_all(["\u5317\u4eac\u5929"], tokenizer=list)

    assert [vocabulary[word] for word in words] == ["\u5317", "\u4eac", "\u5929"]
    assert bounds.tolist() == [0, 3]


def test_exact_identity_keeps_every_keyword_apart():
    assert items_of(["a", "aa", "b"]).tolist() == [0, 1, 2]


def test_a_second_letter_is_another_element():
    # As sets of letters these two are equal; as multisets they share 2 of 4.
    pairs = [items_of(["ab", "aabb"], "minhash", hashes=1, seed=seed) for seed in range(400)]
    alike = np.mean([first == second for first, second in pairs])

    assert 0.38 < alike < 0.62


@pytest.mark.parametrize("identity", ["exact", "minhash"])
def test_the_name_of_an_item_is_that_of_its_keyword_alone(identity):
    words = ["listen", "shelter", "silent", "zebra"]
    names, numbers = item_names(words, identity)
    assert list(names) == sorted(set(names))
    for word, number in zip(words, numbers.tolist(), strict=True):
        assert item_names([word], identity)[0] == [names[number]]
    ours = items_of(words, identity)
    assert len(set(zip(ours.tolist(), numbers.tolist(), strict=True))) == len(set(ours.tolist()))
    assert item_names([], identity)[1].tolist() == []


def test_items_do_not_depend_on_the_other_keywords():
    both = items_of(["caffeine", "caffiene", "shelter"], "minhash")
    alone = items_of(["caffeine", "caffiene"], "minhash")

    assert (both[0] == both[1]) == (alone[0] == alone[1])
    assert both[0] == both[1]  # the same letters, swapped
