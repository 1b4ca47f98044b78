"""Stages compared with the source: all differences are counted, and equal stages have none."""

import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.log_stages import change_column, log_stages

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.keywords.tokenize import tokenize
from setanon_dagster.verifier import source_rows, source_words
from setanon_dagster.verifier.source_rows import SENTENCES, source_failures

LIMITS = {"cores": 1, "memory": None, "spill": None}


def failures(paths, tokenizer=tokenize, *, splits_at_blanks=True):
    return source_failures(paths, tokenizer, LIMITS, splits_at_blanks=splits_at_blanks)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    return log_stages(tmp_path_factory.mktemp("stages"))


@pytest.fixture
def paths(stored, tmp_path):
    """Stages that a test may change."""
    return {name: Path(shutil.copy(path, tmp_path)) for name, path in stored.items()}


def sentences(**faults):
    return [SENTENCES[name].format(count) for name, count in faults.items()]


def test_stages_of_a_log_equal_its_source(paths):
    assert failures(paths) == []


def swap(values):
    return [values[1], values[0], *values[2:]]


MUTATIONS = {
    "one user named three": (
        ("clusters", "user", lambda users: ["eve", "fay", *users[2:]]),
        {"wrong_users": 2},
    ),
    "words of two threads swapped": (("clusters", "words", swap), {"wrong_words": 2}),
    "the order of two words": (
        ("clusters", "words", lambda words: [words[0][::-1], *words[1:]]),
        {"wrong_words": 1},
    ),
    "no words": (("clusters", "words", lambda words: [[] for _ in words]), {"wrong_words": 16}),
    "null words": (("clusters", "words", lambda words: [None, *words[1:]]), {"wrong_words": 1}),
    "lengths that do not fit": (
        ("clusters", "lengths", lambda lengths: [[1], *lengths[1:]]),
        {"wrong_words": 1},
    ),
    "a null user": (("clusters", "user", lambda users: [None, *users[1:]]), {"wrong_users": 1}),
    "an unknown thread": (
        ("clusters", "thread", lambda threads: [99, *threads[1:]]),
        {"wrong_words": 1, "without_rows": 2},
    ),
    "a thread listed twice": (
        ("clusters", "thread", lambda threads: [threads[1], *threads[1:]]),
        {"wrong_words": 1, "without_rows": 2},
    ),
    "a user renamed in the threads": (
        ("threads", "user", lambda users: ["eve", *users[1:]]),
        {"lost_rows": 1, "added_rows": 1, "wrong_users": 1},
    ),
    "a query replaced in the threads": (
        ("threads", "query", lambda queries: ["pine bark", *queries[1:]]),
        {"lost_rows": 1, "added_rows": 1, "wrong_words": 1},
    ),
    "a row counted twice in the source": (
        ("raw_log", "user", lambda users: [None, *users[1:]]),
        {"lost_rows": 1, "added_rows": 1},
    ),
}


@pytest.mark.parametrize("rows_at_once", [source_rows.ROWS_AT_ONCE, 2])
@pytest.mark.parametrize(("change", "expected"), MUTATIONS.values(), ids=MUTATIONS.keys())
def test_changed_stage_is_found(paths, monkeypatch, change, expected, rows_at_once):
    monkeypatch.setattr(source_rows, "ROWS_AT_ONCE", rows_at_once)
    change_column(paths, *change)
    assert failures(paths) == sentences(**expected)


def test_order_of_rows_and_size_of_ranges_do_not_matter(paths, monkeypatch):
    monkeypatch.setattr(source_words, "BATCH_THREADS", 3)
    monkeypatch.setattr(source_rows, "ROWS_AT_ONCE", 3)
    for stage in ("threads", "clusters", "raw_log"):
        rows = (
            duckdb.read_parquet(str(paths[stage]))
            .order("md5(COLUMNS(*)::VARCHAR)")
            .to_arrow_table()
        )
        pa.parquet.write_table(rows, paths[stage])
    assert failures(paths) == []


def test_custom_tokenizer_splits_all_queries(paths):
    whole = {"tokenizer": lambda query: [query.lower()], "splits_at_blanks": False}
    assert failures(paths, **whole) == sentences(wrong_words=16)
    change_column(paths, "clusters", "words", lambda words: [[" ".join(each)] for each in words])
    change_column(paths, "clusters", "lengths", lambda lengths: [[1] for _ in lengths])
    # Only the punctuation of "copper kettle!" is not a keyword of the default tokenizer.
    assert failures(paths, **whole) == sentences(wrong_words=4)


@pytest.mark.parametrize("missing", ["raw_log", "threads"])
def test_missing_stage_is_refused(paths, missing):
    del paths[missing]
    with pytest.raises(InvalidParameterError, match="raw_log and threads, or raw_baskets"):
        failures(paths)


def test_column_of_another_type_is_refused_without_its_values(paths):
    change = duckdb.read_parquet(str(paths["clusters"])).select("* REPLACE ('canary' AS words)")
    parquet.write_table(change.to_arrow_table(), paths["clusters"])
    with pytest.raises(MalformedInputError) as caught:
        failures(paths)
    assert "canary" not in str(caught.value)


def test_repeated_rows_are_counted_one_by_one(paths):
    stage = parquet.read_table(paths["raw_log"])
    parquet.write_table(pa.concat_tables([stage, stage.slice(0, 3)]), paths["raw_log"])
    assert failures(paths) == sentences(lost_rows=3)
    threads = parquet.read_table(paths["threads"])
    parquet.write_table(stage, paths["raw_log"])
    parquet.write_table(
        pa.concat_tables([threads, threads.slice(len(threads) - 1)]), paths["threads"]
    )
    assert failures(paths) == sentences(added_rows=1, wrong_words=1)


BASKETS = [("b1", "ann", "milk"), ("b1", "ann", "salt"), ("b2", "bob", "milk")]
RECORDS = [("b1", "ann", ["milk", "salt"]), ("b2", "bob", ["milk"])]
BASKET_FAULTS = {
    "none": (BASKETS, RECORDS, {}),
    "two items lost": (BASKETS, [("b1", "ann", ["salt"])], {"lost_items": 2}),
    "an item listed twice": (
        BASKETS,
        [("b1", "ann", ["milk", "salt", "salt"]), RECORDS[1]],
        {"added_items": 1},
    ),
    "an item listed twice in the source": ([*BASKETS, BASKETS[0]], RECORDS, {"lost_items": 1}),
    "two items added": (
        BASKETS,
        [RECORDS[0], ("b2", "bob", ["milk", "rice", "tea"])],
        {"added_items": 2},
    ),
    "an item replaced": (
        BASKETS,
        [RECORDS[0], ("b2", "bob", ["rice"])],
        {"lost_items": 1, "added_items": 1},
    ),
    "another user": (
        BASKETS,
        [RECORDS[0], ("b2", "ann", ["milk"])],
        {"lost_items": 1, "added_items": 1},
    ),
    "a basket in two records": (
        BASKETS,
        [("b1", "ann", ["milk"]), ("b1", "ann", ["salt"]), RECORDS[1]],
        {"repeated_baskets": 1},
    ),
    "two records without an item": (
        BASKETS,
        [*RECORDS, ("b3", "cem", []), ("b4", "cem", [])],
        {"repeated_baskets": 2},
    ),
}


@pytest.mark.parametrize(
    ("baskets", "records", "expected"), BASKET_FAULTS.values(), ids=BASKET_FAULTS.keys()
)
def test_baskets_have_the_users_and_items_of_the_source(tmp_path, baskets, records, expected):
    tables = {"raw_baskets": (("record", "user", "item"), baskets)}
    tables["clusters"] = (("name", "user", "words"), records)
    paths = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, (columns, rows) in tables.items():
        values = zip(*rows, strict=True)
        parquet.write_table(pa.table(dict(zip(columns, values, strict=True))), paths[name])
    assert failures(paths) == sentences(**expected)
