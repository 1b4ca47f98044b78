"""`EditDistance` against textbook definitions of both distances."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.similarity import similarity_matrix

from setanon_core.errors import InvalidParameterError
from setanon_core.threads.edit_distance import EditDistance, fold, words_of

SHORT_TEXT = st.text(st.sampled_from("aab bc.+é🦊0z"), max_size=12)
ANY_TEXT = st.text(max_size=12) | st.text(st.characters(categories=["Cs", "Mn", "Zs"]), max_size=4)
SHARE = st.sampled_from([0, 0.2, 0.35, 0.5, 0.65, 1])


def levenshtein(a, b):
    """Dynamic programming, one row at a time."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        above, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def total_length(words):
    return sum(map(len, words))


def expected_similar(a, b, relative, absolute, words):
    a, b = (" ".join(unicodedata.normalize("NFKC", t).casefold().split()) for t in (a, b))
    if not a or not b:
        return False
    distance = levenshtein(a, b)
    if distance <= absolute and distance <= relative * max(len(a), len(b)):
        return True
    if words is None:
        return False
    a, b = set(words_of(a)), set(words_of(b))
    changed = max(total_length(a - b), total_length(b - a))
    # Replacing words costs the longer side: equal to the larger total minus the shared words.
    larger = max(total_length(a), total_length(b))
    assert changed == larger - total_length(a & b)
    return bool(a & b) and changed <= words * larger


@given(
    st.lists(SHORT_TEXT | ANY_TEXT, min_size=1, max_size=6),
    SHARE,
    st.integers(0, 8),
    st.none() | SHARE,
)
def test_result_equals_textbook_definition(texts, relative, absolute, words):
    result = similarity_matrix(EditDistance(relative, absolute, words), texts)
    expected = [[expected_similar(a, b, relative, absolute, words) for b in texts] for a in texts]
    assert result.tolist() == expected


@given(st.text("abcdefgh", min_size=5, max_size=15), st.integers(0, 3), st.data())
def test_filters_remove_no_pair_within_the_threshold(text, edits, data):
    edited = list(text)
    for _ in range(edits):
        position = data.draw(st.integers(0, len(edited) - 1))
        deleted = data.draw(st.integers(0, 1))
        edited[position : position + deleted] = data.draw(st.text("xyz", max_size=1))
    pair = [text, "".join(edited)]
    measure = EditDistance(1, levenshtein(*pair), None)
    assert similarity_matrix(measure, pair)[0, 1] or not edited


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("capitl humane society", "capital humane society", True),  # misspelled
        ("pine straw", "pine straw delivery", True),  # refined
        ("effects of caffeine", "caffeine effects on the body", True),  # other word order
        ("milburn animal shelter", "harlow animal shelter", True),  # another place name
        ("Pine  Straw", "pine straw", True),  # case and spaces
        ("\uff50ine straw", "pine straw", True),  # a full-width letter
        ("animal shelter", "humane society", False),  # only result sets can join these
        ("effects of caffeine", "president of france", False),  # only `of` in common
        ("www.blue.com", "www.yellow.com", False),  # only `www` and `com` in common
        ("北京天气预报", "北京天气", True),
        ("🦊", "🐻", False),
        ("", "", False),
        ("  ", "a", False),
    ],
)
def test_default_thresholds_on_typical_queries(a, b, expected):
    assert similarity_matrix(EditDistance(), [a, b])[0, 1] == expected


def test_queries_of_ten_thousand_words_are_compared():
    long = " ".join(f"word{n}" for n in range(10_000))
    texts = [long, long + "s", "word1", long[::-1]]
    assert similarity_matrix(EditDistance(), texts)[0].tolist() == [True, True, False, False]


@given(st.text(max_size=20))
def test_words_do_not_depend_on_leading_punctuation(text):
    assert words_of(fold(text)) == words_of("( " + fold(text))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("x" * 20, "x" * 13 + "y" * 7, True),  # 35 % of the characters
        ("x" * 20, "x" * 12 + "y" * 8, False),
        ("x" * 90, "x" * 82 + "y" * 8, True),  # 8 characters
        ("x" * 90, "x" * 81 + "y" * 9, False),
        ("xxx aaaaaaa", "xxx bbbbbbb", True),  # words with 70 % of the characters
        ("xxxxx " + "a" * 12, "xxxxx " + "b" * 12, False),
    ],
)
def test_default_thresholds_are_inclusive(a, b, expected):
    assert similarity_matrix(EditDistance(), [a, b]).tolist() == [
        [True, expected],
        [expected, True],
    ]


@pytest.mark.parametrize(
    "parameters",
    [
        {"relative": 1.1},
        {"relative": float("nan")},
        {"relative": "canary"},
        {"absolute": -1},
        {"absolute": 2.5},
        {"absolute": True},
        {"words": -0.1},
    ],
)
def test_thresholds_out_of_range_are_refused(parameters):
    with pytest.raises(InvalidParameterError, match="must be") as refusal:
        EditDistance(**parameters)
    assert "canary" not in str(refusal.value)
