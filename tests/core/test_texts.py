"""Many texts at once give what they give one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setanon_core.keywords.tokenize import tokenize
from setanon_core.threads import text_batches as module
from setanon_core.threads.similarity import fold, words_of
from setanon_core.threads.text_batches import cut_each, fold_and_cut

LETTERS = st.sampled_from([*"aZ9 .-\n\t'", "  ", "é", "\u212a", "İ", "\ud800", "\0", "ß", "²"])
TEXTS = st.lists(st.lists(LETTERS, max_size=6).map("".join), max_size=8)


@given(TEXTS, st.integers(1, 3))
def test_texts_are_folded_and_cut_as_one_by_one(texts, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        folded, words, sizes = fold_and_cut(texts, fold, words_of)
        assert folded == list(map(fold, texts))
        assert words == [word for text in folded for word in words_of(text)]
        assert sizes.tolist() == [len(words_of(text)) for text in folded]
        for cut in (tokenize, lambda text: words_of(fold(text))):
            words, sizes = cut_each(texts, cut)
            assert words == [word for text in texts for word in cut(text)]
            assert sizes.tolist() == [len(cut(text)) for text in texts]
