"""Threads shown before and after."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.reports import CENTERS, GROUPS, stage_certificate, write_stages

from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.build import report_of
from setanon_dagster.report.sample import MAX_QUERIES, THREADS_PER_KIND, compare, sample

QUERIES = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), max_size=4)


@pytest.fixture
def stages(tmp_path):
    return write_stages(tmp_path)


def shown(stages, form="queries"):
    with open_stages(stages) as connection:
        return sample(connection, form)


def test_report_has_no_threads_by_default(stages):
    with open_stages(stages) as connection:
        assert report_of("trial", stage_certificate(), connection).threads == ()
        assert report_of("trial", stage_certificate(), connection, show_threads=True).threads


def test_threads_of_each_kind_are_shown(stages):
    counts = [
        (thread.withdrawn, thread.count("kept"), thread.count("deleted"), thread.count("added"))
        for thread in shown(stages)
    ]
    assert Counter(counts) == {
        (False, 1, 1, 1): 1, (False, 1, 0, 1): 1, (False, 2, 1, 0): THREADS_PER_KIND,
        (False, 2, 0, 0): 1, (True, 0, 2, 0): 1, (True, 0, 5, 0): 1,
    }  # fmt: skip


def test_set_is_shown_as_one_query(stages):
    sets = [
        {"thread": thread, "group": group, "keywords": CENTERS[group].split()}
        for thread, group in GROUPS.items()
    ]
    parquet.write_table(pa.Table.from_pylist(sets), stages["anonymized_threads"])
    threads = shown(stages, "sets")
    assert [len(thread.queries) for thread in threads] == [1] * len(threads)
    assert ["garden", "hose"] in [[word.text for word in each.queries[0]] for each in threads]


def test_long_thread_is_not_shown(stages):
    words = ["pine"] * (MAX_QUERIES + 1)
    rows = parquet.read_table(stages["clusters"]).to_pylist()
    long = [{**row, "words": words, "lengths": [1] * len(words)} for row in rows]
    parquet.write_table(pa.Table.from_pylist(long), stages["clusters"])
    assert shown(stages) == ()


@given(QUERIES, QUERIES)
def test_comparison_has_the_words_of_both_versions_in_order(before, after):
    words = [word for query in compare(before, after) for word in query]
    for queries, change in ((before, "added"), (after, "deleted")):
        assert [word.text for word in words if word.change != change] == [
            word for query in queries for word in query
        ]


@given(QUERIES, st.sets(st.sampled_from("abcd")))
def test_published_words_are_kept_even_if_repeated(before, published):
    after = [[word for word in query if word in published] for query in before]
    queries = compare(before, [query for query in after if query])
    assert [[word.text for word in query] for query in queries] == before
    words = [word for query in queries for word in query]
    assert all((word.change == "kept") == (word.text in published) for word in words)


@given(QUERIES, QUERIES)
def test_comparison_keeps_as_many_words_as_possible(before, after):
    def flat(queries):
        return [word for query in queries for word in (*query, "end of query")]

    old, new = flat(before), flat(after)
    longest = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, one in enumerate(old):
        for j, other in enumerate(new):
            longest[i + 1][j + 1] = (
                longest[i][j] + 1 if one == other else max(longest[i][j + 1], longest[i + 1][j])
            )
    kept = sum(word.change == "kept" for query in compare(before, after) for word in query)
    # Query ends are aligned too, but not returned.
    assert longest[-1][-1] - min(len(before), len(after)) <= kept <= longest[-1][-1]
