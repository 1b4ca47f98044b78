"""Stages compared with the source: all differences are counted, and equal stages have none."""

import shutil
from collections import Counter
from itertools import chain
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.log_stages import change_column, log_stages

from setanon_core.errors import InvalidParameterError, MalformedInputError
from setanon_core.keywords.tokenize import tokenize
from setanon_dagster.verifier import source_words
from setanon_dagster.verifier.source_rows import SENTENCES, source_failures
from setanon_dagster.verifier.source_words import count_thread_faults

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


@pytest.mark.parametrize(("change", "expected"), MUTATIONS.values(), ids=MUTATIONS.keys())
def test_changed_stage_is_found(paths, change, expected):
    change_column(paths, *change)
    assert failures(paths) == sentences(**expected)


def test_order_of_rows_and_size_of_ranges_do_not_matter(paths, monkeypatch):
    monkeypatch.setattr(source_words, "BATCH_THREADS", 3)
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


QUERIES = ("pine", "pine straw", "STRAW", "", "wi-fi", "pine, straw")
WORDS = st.sampled_from([["pine"], ["pine", "straw"], ["straw"], [], ["wi-fi"], ["wi", "fi"]])


@st.composite
def stages(draw):
    """Rows of threads, and clusters of which some differ from them."""
    rows, clusters = [], []
    for thread in range(draw(st.integers(0, 4))):
        user = draw(st.sampled_from("ab"))
        queries = draw(st.lists(st.sampled_from(QUERIES), min_size=1, max_size=3))
        rows += [(thread, n, user, query) for n, query in enumerate(queries)]
        words = [tokenize(query) for query in queries]
        if draw(st.booleans()):
            words[draw(st.integers(0, len(words) - 1))] = draw(WORDS)
        owner = draw(st.sampled_from("ab"))
        clusters.append((thread, owner, list(chain(*words)), [len(each) for each in words]))
    return rows, clusters


def expected_faults(rows, clusters):
    """Brute force: compare the threads one by one."""
    faults = Counter(wrong_users=0, wrong_words=0)
    for thread, user, words, lengths in clusters:
        queries = [row for row in rows if row[0] == thread]
        keywords = [tokenize(query) for *_, query in queries]
        faults["wrong_users"] += any(owner != user for _, _, owner, _ in queries)
        typed = list(chain(*keywords)), [len(each) for each in keywords]
        faults["wrong_words"] += typed != (words, lengths)
    return faults


SCHEMAS = {
    "threads": {
        "thread": pa.int64(), "position": pa.int64(), "user": pa.string(), "query": pa.string(),
    },
    "clusters": {
        "thread": pa.int64(), "user": pa.string(), "words": pa.list_(pa.string()),
        "lengths": pa.list_(pa.int32()),
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


@given(stages())
@settings(max_examples=60)
def test_counts_equal_brute_force(connection, drawn):
    rows, clusters = drawn
    types = {
        "thread": pa.int64(),
        "position": pa.int64(),
        "user": pa.string(),
        "query": pa.string(),
    }
    tables = {
        "threads": (types, rows),
        "clusters": (
            {
                "thread": pa.int64(),
                "user": pa.string(),
                "words": pa.list_(pa.string()),
                "lengths": pa.list_(pa.int32()),
            },
            clusters,
        ),
    }
    for name, (schema, values) in tables.items():
        columns = list(zip(*values, strict=True)) or [[] for _ in schema]
        arrays = [pa.array(list(c), t) for c, t in zip(columns, schema.values(), strict=True)]
        connection.register("drawn", pa.table(arrays, list(schema)))
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM drawn")
    counted = count_thread_faults(connection, tokenize, splits_at_blanks=True)
    assert counted == {
        "without_rows": 0,
        **dict.fromkeys(("wrong_users", "wrong_words"), 0),
    } | dict(expected_faults(rows, clusters))
