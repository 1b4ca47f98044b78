"""Published keywords that look personal, of invented queries."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from setanon_core.keywords.tokenize import tokenize
from setanon_dagster.quality.stage_views import open_stages
from setanon_dagster.report.personal_words import find_personal_words


def search(folder, queries, published=None, k=2):
    """Search a release of these queries, one per user, or of the published ones only."""
    published = queries if published is None else published
    tables = {
        "raw": [{"user": f"u{n}", "query": query} for n, query in enumerate(queries)],
        "clusters": [{"user": f"u{n}", "words": tokenize(q)} for n, q in enumerate(queries)],
        "anonymized_threads": [
            {"thread": n, "query": " ".join(tokenize(query))} for n, query in enumerate(published)
        ],
    }
    for stage, rows in tables.items():
        parquet.write_table(pa.Table.from_pylist(rows), folder / f"{stage}.parquet")
    with open_stages({stage: folder / f"{stage}.parquet" for stage in tables}) as connection:
        return find_personal_words(connection, k)


def words(result):
    return {each.kind: dict(each.listed) for each in result.words}


def test_each_kind_is_found_with_its_users(tmp_path):
    queries = [
        "mail ann.b@example.org",
        "call 555-01234 now",
        "the Quimsby farm",
        "Quimsby of ashby",
    ]
    found = search(tmp_path, queries)
    assert words(found) == {
        "email": {"ann.b@example.org": 1},
        "number": {"555-01234": 1},
        "name": {"quimsby": 2},
    }
    assert [each.count for each in found.words] == [1, 1, 1]
    assert found.capitalized == 0.5
    assert "quimsby" not in repr(found)


@pytest.mark.parametrize("word", ["2026", "1,200", "a@b", "@ann", "12345a", "3.5"])
def test_ordinary_words_are_not_personal(tmp_path, word):
    assert words(search(tmp_path, [word])) == {"email": {}, "number": {}, "name": {}}


@pytest.mark.parametrize(
    "queries",
    [["Garden hose", "garden", "garden"], ["GARDEN HOSE"] * 3, ["Garden"] * 10, ["garden"]],
)
def test_words_that_are_common_or_mostly_lower_case_are_no_names(tmp_path, queries):
    assert words(search(tmp_path, queries))["name"] == {}


def test_only_published_words_are_listed(tmp_path):
    found = search(tmp_path, ["Quimsby farm", "ann@example.org", "farm"], published=["farm"])
    assert not any(words(found).values())


def test_source_without_capital_letters_is_recognized(tmp_path):
    assert search(tmp_path, ["quimsby farm"]).capitalized == 0
