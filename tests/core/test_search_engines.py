"""Full-text search: ranking, unusual queries, refusals."""

import pytest
from support.similarity import similarity_matrix

from setanon_core import AnyOf, ReleaseParams
from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.threads.result_overlap import ResultOverlap
from setanon_core.threads.search_engines import FullTextResults, TableResults

DOCUMENTS = [
    ("shelters", "animal shelter and humane society: adopt a dog or a cat"),
    ("adoption", "adopt an animal from the shelter of a humane society"),
    ("garden", "pine straw and mulch for the garden"),
    ("coffee", "effects of caffeine on the body"),
]


def test_queries_with_similar_results_are_similar():
    engine = FullTextResults(DOCUMENTS)
    texts = ["animal shelter", "Humane Society!", "pine mulch", "unknown words"]
    assert similarity_matrix(ResultOverlap(engine), texts).tolist() == [
        [True, True, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]
    engine.close()


def test_rare_words_rank_first_and_ties_keep_input_order():
    engine = FullTextResults([*DOCUMENTS, ("copy", DOCUMENTS[2][1])], top=3)
    assert engine("mulch of caffeine")[:1] == ["coffee"]
    assert engine("straw mulch") == ["garden", "copy"]
    assert len(engine("a the of and")) == 3


@pytest.mark.parametrize(
    "query",
    ["", "  ", '"', "NEAR(", "a* OR", "-x", "text:y", "a\0b", "🦊", "\ud800", "_", "w " * 10**4],
)
def test_any_text_is_a_valid_query(query):
    engine = FullTextResults([(0, "a \ud800 b\0c w"), (1, "")])
    assert isinstance(engine(query), list)
    assert engine("c") == [0]


def test_top_below_one_is_refused():
    with pytest.raises(InvalidParameterError, match="top must be"):
        FullTextResults([], top=0)


def test_documents_must_be_text():
    with pytest.raises(MalformedInputError, match="document 1 is of type bytes") as refusal:
        FullTextResults([(0, "fine"), ("canary", b"canary")])
    assert "canary" not in str(refusal.value)


def test_reprs_do_not_contain_queries_or_results():
    table = TableResults({"canary query": ["canary result"]})
    full_text = FullTextResults([("canary id", "canary text")])
    for engine in (table, full_text):
        measure = AnyOf((ResultOverlap(engine),))
        for noun in (engine, measure, ReleaseParams(2, measure=measure)):
            assert "canary" not in repr(noun)
