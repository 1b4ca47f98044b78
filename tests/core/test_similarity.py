"""Combined similarity measures."""

from hypothesis import given
from hypothesis import strategies as st
from support.similarity import similarity_matrix

from setanon_core.threads.edit_distance import EditDistance
from setanon_core.threads.similarity import NEVER_SIMILAR, AnyOf

TEXTS = st.lists(st.text(st.sampled_from("aab bc.+é🦊0z"), max_size=12), min_size=1, max_size=6)


@given(TEXTS)
def test_any_of_is_the_union_of_its_measures(texts):
    by_characters, by_words = EditDistance(0.3, 2, None), EditDistance(0, 0, 0.5)
    union = similarity_matrix(by_characters, texts) | similarity_matrix(by_words, texts)
    assert (similarity_matrix(AnyOf((by_characters, by_words)), texts) == union).all()


def test_never_similar_finds_no_pair_similar():
    assert not similarity_matrix(NEVER_SIMILAR, ["pine straw", "pine straw ", "tea"]).any()
