"""`ResultOverlap`: shared top results of any search engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.similarity import similarity_matrix

from setanon_core.errors import InvalidParameterError
from setanon_core.threads.edit_distance import EditDistance
from setanon_core.threads.result_overlap import ResultOverlap
from setanon_core.threads.search_engines import FullTextResults, TableResults
from setanon_core.threads.separate import separate_threads
from setanon_core.threads.similarity import AnyOf

SHARE = st.sampled_from([0.1, 0.2, 0.35, 0.5, 0.65, 1])


@given(st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=6), SHARE)
def test_only_the_top_results_are_compared(results, share):
    texts = [f"q{n}" for n in range(len(results))]
    engine = TableResults(dict(zip(texts, results, strict=True)))
    result = similarity_matrix(ResultOverlap(engine, share, top=5), texts)
    top_results = [set(listed[:5]) for listed in results]
    expected = [
        [bool(a & b) and len(a & b) >= share * min(len(a), len(b)) for b in top_results]
        for a in top_results
    ]
    assert result.tolist() == expected


def test_engine_is_any_function_and_is_called_once_per_nonblank_text():
    calls = []

    def engine(query):
        calls.append(query)
        return [len(query)]

    assert similarity_matrix(ResultOverlap(engine), ["ab", "cd", "e", " "]).tolist() == [
        [True, True, False, False],
        [True, True, False, False],
        [False, False, True, False],
        [False, False, False, False],
    ]
    assert calls == ["ab", "cd", "e"]


def test_engine_is_not_called_for_sessions_with_one_distinct_text():
    calls = []
    measure = ResultOverlap(lambda query: calls.append(query) or ())
    separate_threads(
        [1, 1, 2, 2, 3], [1, 2, 1, 2, 1], ["one", "one", "two", "three", "four"], measure
    )
    assert calls == ["two", "three"]


def test_results_join_queries_without_a_common_word():
    queries = ["harlow animal shelter", "capital humane society", "humane society", "pine straw"]
    users = [4, 4, 4, 4]
    engine = FullTextResults(
        [(n, f"the animal shelter of the humane society, branch {n}") for n in range(40)]
        + [("garden", "pine straw and mulch")]
    )
    assert separate_threads(users, range(4), queries).tolist() == [0, 1, 1, 2]
    either = AnyOf((EditDistance(), ResultOverlap(engine)))
    assert separate_threads(users, range(4), queries, either).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("parameters", [{"share": 0}, {"share": 2}, {"top": 0}])
def test_thresholds_out_of_range_are_refused(parameters):
    with pytest.raises(InvalidParameterError, match="must be"):
        ResultOverlap(TableResults({}), **parameters)


@pytest.mark.parametrize(("rank", "expected"), [(50, True), (51, False)])
def test_by_default_the_top_50_results_are_compared(rank, expected):
    results = {"a": ["common"], "b": [*range(rank - 1), "common", *range(100, 200)]}

    assert similarity_matrix(ResultOverlap(TableResults(results)), ["a", "b"])[0, 1] == expected


@pytest.mark.parametrize(("shared", "expected"), [(20, True), (19, False)])
def test_by_default_half_of_the_smaller_result_set_must_be_shared(shared, expected):
    results = {"a": range(40), "b": range(40 - shared, 90)}

    assert similarity_matrix(ResultOverlap(TableResults(results)), ["a", "b"])[0, 1] == expected
