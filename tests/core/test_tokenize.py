"""Keywords of queries of all kinds, and the invariants that edits rely on."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
def test_keywords_of_typical_queries(query, expected):
    assert tokenize(query) == expected


@given(st.text())
def test_keywords_joined_by_spaces_give_the_same_keywords(query):
    keywords = tokenize(query)

    assert tokenize(" ".join(keywords)) == keywords


@given(ASCII)
def test_ascii_pattern_equals_unicode_pattern(query):
    # A non-ASCII letter makes tokenize use the Unicode pattern for the complete query.
    assert tokenize(query + " \u03b1") == [*tokenize(query), "\u03b1"]


@given(st.lists(st.text(max_size=20), max_size=8))
def test_tokenize_all_equals_tokenize_of_each_query(queries):
    words, offsets, vocabulary = tokenize_all(queries)

    assert list(vocabulary) == sorted(set(vocabulary))
    for query, low, high in zip(queries, offsets[:-1], offsets[1:], strict=True):
        assert [vocabulary[word] for word in words[low:high]] == tokenize(query)


def test_custom_tokenizer_is_used():
    words, offsets, vocabulary = tokenize_all(["\u5317\u4eac\u5929"], tokenizer=list)

    assert [vocabulary[word] for word in words] == ["\u5317", "\u4eac", "\u5929"]
    assert offsets.tolist() == [0, 3]


def test_keywords_have_no_control_characters():
    text = "http://a\x01b/c www.x\x7fy.com https://é\x85z/ www.a\x00b"
    keywords = tokenize(text)
    assert "http://a" in keywords
    assert not [c for word in keywords for c in word if unicodedata.category(c) == "Cc"]
