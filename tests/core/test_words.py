"""Many texts at once give what they give one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.columns import words as module
from setanon_core.columns.words import fold_and_split, split_texts
from setanon_core.keywords.tokenize import tokenize
from setanon_core.threads.edit_distance import fold, words_of

LETTERS = st.sampled_from([*"aZ9 .-\n\t'", "  ", "é", "\u212a", "İ", "\ud800", "\0", "ß", "²"])
TEXTS = st.lists(st.lists(LETTERS, max_size=6).map("".join), max_size=8)


@given(TEXTS, st.integers(1, 3))
def test_texts_are_folded_and_cut_as_one_by_one(texts, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TEXTS_PER_BATCH", at_once)
        folded, words, sizes = fold_and_split(texts, fold, words_of)
        assert folded == list(map(fold, texts))
        assert words == [word for text in folded for word in words_of(text)]
        assert sizes.tolist() == [len(words_of(text)) for text in folded]
        for cut in (tokenize, lambda text: words_of(fold(text))):
            words, sizes = split_texts(texts, cut)
            assert words == [word for text in texts for word in cut(text)]
            assert sizes.tolist() == [len(cut(text)) for text in texts]
