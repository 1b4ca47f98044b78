"""Sets of an earlier release and of the present one are counted alike, with ids or numbers."""

from collections import Counter

import pyarrow as pa
import pytest

from setanon_dagster.risk.earlier_release import set_counts

QUERIES = {"position": [0, 1, 0, 0], "query": ["pine straw", "straw", "straw pine", "tea"]}


@pytest.mark.parametrize("threads", [{"thread_id": ["a", "a", "b", "c"]}, {"thread": [7, 7, 8, 9]}])
def test_sets_are_counted_in_published_rows_and_in_those_of_the_stage(threads):
    expected = Counter({frozenset({"pine", "straw"}): 2, frozenset({"tea"}): 1})
    assert set_counts(pa.table(threads | QUERIES)) == expected


def test_sets_of_keywords_are_counted_without_threads():
    table = pa.table({"thread": [7, 8], "keywords": [["a", "b"], ["b", "a"]]})
    assert set_counts(table) == Counter({frozenset("ab"): 2})
