"""Measures of similarity against textbook definitions; search engines and thresholds."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.threads.edit_distance import EditDistance, fold, words_of
from setanon_core.threads.result_overlap import ResultOverlap
from setanon_core.threads.search_engines import FullTextResults, TableResults
from setanon_core.threads.separate import separate_threads
from setanon_core.threads.similarity import NEVER_SIMILAR, AnyOf

LETTERS = st.text(st.sampled_from("aab bc.+é🦊0z"), max_size=12)
ANYTHING = st.text(max_size=12) | st.text(st.characters(categories=["Cs", "Mn", "Zs"]), max_size=4)
SHARE = st.sampled_from([0, 0.2, 0.35, 0.5, 0.65, 1])

DOCUMENTS = [
    ("shelters", "animal shelter and humane society: adopt a dog or a cat"),
    ("adoption", "adopt an animal from the shelter of a humane society"),
    ("garden", "pine straw and mulch for the garden"),
    ("smoke", "effects of caffeine on the body"),
]


def levenshtein(a, b):
    """The textbook's table, one row at a time."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def letters_in(words):
    return sum(map(len, words))


def slow_similar(a, b, relative, absolute, words):
    a, b = (" ".join(unicodedata.normalize("NFKC", t).casefold().split()) for t in (a, b))
    if not a or not b:
        return False
    distance = levenshtein(a, b)
    if distance <= absolute and distance <= relative * max(len(a), len(b)):
        return True
    if words is None:
        return False
    a, b = set(words_of(a)), set(words_of(b))
    changed = max(letters_in(a - b), letters_in(b - a))
    # Replacing costs the longer side: the query with more letters loses what is not shared.
    larger = max(letters_in(a), letters_in(b))
    assert changed == larger - letters_in(a & b)
    return bool(a & b) and changed <= words * larger


def all_pairs(measure, texts):
    a, b = np.divmod(np.arange(len(texts) ** 2), len(texts))
    return measure.prepare(texts)(a, b).reshape(len(texts), len(texts))


@given(
    st.lists(LETTERS | ANYTHING, min_size=1, max_size=6),
    SHARE,
    st.integers(0, 8),
    st.none() | SHARE,
)
def test_edit_distance_is_the_textbook_s(texts, relative, absolute, words):
    found = all_pairs(EditDistance(relative, absolute, words), texts)
    slow = [[slow_similar(a, b, relative, absolute, words) for b in texts] for a in texts]
    assert found.tolist() == slow


@given(st.text("abcdefgh", min_size=5, max_size=15), st.integers(0, 3), st.data())
def test_filters_drop_nothing_that_is_within_the_threshold(text, edits, data):
    other = list(text)
    for _ in range(edits):
        place = data.draw(st.integers(0, len(other) - 1))
        other[place : place + data.draw(st.integers(0, 1))] = data.draw(st.text("xyz", max_size=1))
    pair = [text, "".join(other)]
    measure = EditDistance(1, levenshtein(*pair), None)
    assert all_pairs(measure, pair)[0, 1] or not other


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=6), SHARE)
def test_overlap_is_counted_in_the_top_results_only(answers, share):
    texts = [f"q{n}" for n in range(len(answers))]
    engine = TableResults(dict(zip(texts, answers, strict=True)))
    found = all_pairs(ResultOverlap(engine, share or 0.1, top=5), texts)
    sets = [set(answer[:5]) for answer in answers]
    slow = [
        [bool(a & b) and len(a & b) >= (share or 0.1) * min(len(a), len(b)) for b in sets]
        for a in sets
    ]
    assert found.tolist() == slow


@given(st.lists(LETTERS, min_size=1, max_size=6))
def test_any_of_is_the_union_and_nothing_is_similar_to_none(texts):
    near, worded = EditDistance(0.3, 2, None), EditDistance(0, 0, 0.5)
    union = all_pairs(near, texts) | all_pairs(worded, texts)
    assert (all_pairs(AnyOf((near, worded)), texts) == union).all()
    assert not all_pairs(NEVER_SIMILAR, texts).any()


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("capitl humane society", "capital humane society", True),  # misspelt
        ("pine straw", "pine straw delivery", True),  # refined
        ("effects of caffeine", "caffeine effects on the body", True),  # turned around
        ("milburn animal shelter", "harlow animal shelter", True),  # another place
        ("Pine  Straw", "pine straw", True),  # case and blanks
        ("\uff50ine straw", "pine straw", True),  # a full-width letter
        ("animal shelter", "humane society", False),  # only a search engine knows
        ("effects of caffeine", "president of france", False),  # `of` is no topic
        ("www.blue.com", "www.yellow.com", False),  # nor are `www` and `com`
        ("北京天气预报", "北京天气", True),
        ("🦊", "🐻", False),
        ("", "", False),
        ("  ", "a", False),
    ],
)
def test_the_defaults_decide_as_people_would(a, b, expected):
    assert all_pairs(EditDistance(), [a, b])[0, 1] == expected


def test_queries_of_ten_thousand_words_are_compared_quickly():
    long = " ".join(f"word{n}" for n in range(10_000))
    assert all_pairs(EditDistance(), [long, long + "s", "word1", long[::-1]])[0].tolist() == [
        True,
        True,
        False,
        False,
    ]


@given(st.text(max_size=20))
def test_words_are_the_same_with_and_without_the_short_cut(text):
    # A bracket in front sends the text through the pattern.
    assert words_of(fold(text)) == words_of("( " + fold(text))


def test_full_text_brings_together_what_shares_no_word():
    engine = FullTextResults(DOCUMENTS)
    texts = ["animal shelter", "Humane Society!", "pine mulch", "unheard words"]
    found = all_pairs(ResultOverlap(engine), texts)
    assert found.tolist() == [
        [True, True, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]
    engine.close()


def test_full_text_ranks_rare_words_first_and_equal_ones_by_place():
    engine = FullTextResults([*DOCUMENTS, ("copy", DOCUMENTS[2][1])], top=3)
    assert engine("mulch of caffeine")[:1] == ["smoke"]
    assert engine("straw mulch") == ["garden", "copy"]
    assert len(engine("a the of and")) == 3


@pytest.mark.parametrize(
    "query",
    ["", "  ", '"', "NEAR(", "a* OR", "-x", "text:y", "a\0b", "🦊", "\ud800", "_", "w " * 10**4],
)
def test_full_text_takes_any_query(query):
    engine = FullTextResults([(0, "a \ud800 b\0c w"), (1, "")])
    assert isinstance(engine(query), list)
    assert engine("c") == [0]


def test_each_query_is_asked_for_once_and_a_search_engine_is_any_function():
    asked = []

    def engine(query):
        asked.append(query)
        return [len(query)]

    assert all_pairs(ResultOverlap(engine), ["ab", "cd", "e", " "]).tolist() == [
        [True, True, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]
    assert asked == ["ab", "cd", "e"]


def test_shelters_and_societies_meet_through_their_results():
    queries = ["harlow animal shelter", "capital humane society", "humane society", "pine straw"]
    users = [4, 4, 4, 4]
    engine = FullTextResults(
        [(n, f"the animal shelter of the humane society, branch {n}") for n in range(40)]
        + [("garden", "pine straw and mulch")]
    )
    assert separate_threads(users, range(4), queries).tolist() == [0, 1, 1, 2]
    both = AnyOf((EditDistance(), ResultOverlap(engine)))
    assert separate_threads(users, range(4), queries, both).tolist() == [0, 0, 0, 1]


def test_a_search_engine_is_not_asked_for_who_typed_one_text():
    asked = []
    measure = ResultOverlap(lambda query: asked.append(query) or ())
    separate_threads(
        [1, 1, 2, 2, 3], [1, 2, 1, 2, 1], ["one", "one", "two", "three", "four"], measure
    )
    assert asked == ["two", "three"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: EditDistance(relative=1.1),
        lambda: EditDistance(relative=float("nan")),
        lambda: EditDistance(relative="canary"),
        lambda: EditDistance(absolute=-1),
        lambda: EditDistance(absolute=2.5),
        lambda: EditDistance(absolute=True),
        lambda: EditDistance(words=-0.1),
        lambda: ResultOverlap(TableResults({}), share=0),
        lambda: ResultOverlap(TableResults({}), share=2),
        lambda: ResultOverlap(TableResults({}), top=0),
        lambda: FullTextResults([], top=0),
    ],
)
def test_thresholds_out_of_range_are_refused(make):
    with pytest.raises(InvalidParameterError, match="must be") as refused:
        make()
    assert "canary" not in str(refused.value)


def test_a_document_must_be_text():
    with pytest.raises(MalformedInputError, match="document 1 is of type bytes"):
        FullTextResults([(0, "fine"), ("canary", b"canary")])
