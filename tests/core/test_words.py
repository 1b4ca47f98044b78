"""Texts folded and split in batches give the same words as one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns import words as module
from setanon_core.columns.words import fold_and_split, split_texts
from setanon_core.keywords.tokenize import tokenize
from setanon_core.threads.edit_distance import fold, words_of

CHARACTERS = st.sampled_from([*"aZ9 .-\n\t'", "  ", "é", "\u212a", "İ", "\ud800", "\0", "ß", "²"])
TEXTS = st.lists(st.lists(CHARACTERS, max_size=6).map("".join), max_size=8)


@pytest.fixture(scope="module", autouse=True)
def _small_batches():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TEXTS_PER_BATCH", 3)
        yield


@given(TEXTS)
def test_fold_and_split_equals_one_by_one(texts):
    folded, words, counts = fold_and_split(texts, fold, words_of)
    assert folded == list(map(fold, texts))
    assert words == [word for text in folded for word in words_of(text)]
    assert counts.tolist() == [len(words_of(text)) for text in folded]


@pytest.mark.parametrize("split", [tokenize, lambda text: words_of(fold(text))])
@given(TEXTS)
def test_split_texts_equals_one_by_one(split, texts):
    words, counts = split_texts(texts, split)
    assert words == [word for text in texts for word in split(text)]
    assert counts.tolist() == [len(split(text)) for text in texts]
