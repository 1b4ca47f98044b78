"""Users and words of clusters compared with queries: brute force, in batches of any size."""

from collections import Counter
from itertools import chain

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setanon_core.keywords.tokenize import tokenize
from setanon_dagster.verifier import source_words, sql
from setanon_dagster.verifier.source_words import count_thread_faults

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


def count(connection, rows, clusters, tokenizer=tokenize, *, splits_at_blanks=True):
    for name, values in (("threads", rows), ("clusters", clusters)):
        schema = SCHEMAS[name]
        columns = list(zip(*values, strict=True)) or [[] for _ in schema]
        arrays = [pa.array(list(c), t) for c, t in zip(columns, schema.values(), strict=True)]
        connection.register("given_rows", pa.table(arrays, list(schema)))
        connection.execute(f"CREATE OR REPLACE TABLE {name} AS FROM given_rows")
    return count_thread_faults(connection, tokenizer, splits_at_blanks=splits_at_blanks)


def expected_faults(rows, clusters):
    """Brute force: compare the threads one by one; the first of repeated clusters counts."""
    faults = Counter(wrong_users=0, wrong_words=0, without_rows=0)
    first = {cluster[0]: cluster for cluster in reversed(clusters) if cluster[0] is not None}
    faults["without_rows"] += len(clusters) - len(first)
    for thread, user, words, lengths in first.values():
        queries = sorted((row for row in rows if row[0] == thread), key=lambda row: row[1])
        keywords = [tokenize(query or "") for *_, query in queries]
        faults["without_rows"] += not queries
        faults["wrong_users"] += any(owner != user or owner is None for _, _, owner, _ in queries)
        typed = list(chain(*keywords)), [len(each) for each in keywords]
        faults["wrong_words"] += typed != (words, lengths)
    # Rows of threads that are not listed: one per thread, or one per row after the last thread.
    unknown = [row[0] for row in rows if row[0] not in first]
    inner = {n for n in unknown if n is not None and n < max(first, default=-1)}
    return faults + Counter(without_rows=len(inner) + sum(n not in inner for n in unknown))


def as_counts(counter):
    return {name: counter[name] for name in ("wrong_users", "wrong_words", "without_rows")}


ROWS = [
    (2, 0, "ann", "pine"),
    (2, 1, "ann", "Pine Straw"),
    (2, 2, "ann", None),
    (4, 0, "bob", "wi-fi café"),
    (6, 0, "ann", "straw"),
    (6, 1, "ann", "pine, straw"),
    (8, 0, "cem", "mulch"),
]
CLUSTERS = [
    (2, "ann", ["pine", "pine", "straw"], [1, 2, 0]),
    (4, "bob", tokenize("wi-fi café"), [len(tokenize("wi-fi café"))]),
    (6, "ann", ["straw", "pine", "straw"], [1, 2]),
    (8, "cem", ["mulch"], [1]),
]
CHANGES = {
    "nothing": lambda _rows, _clusters: None,
    "rows in another order": lambda rows, _: rows.reverse(),
    "clusters in another order": lambda _, clusters: clusters.reverse(),
    "positions in another order": lambda rows, _: rows.insert(4, rows.pop(5)),
    "the last positions of a thread in another order": lambda rows, _: rows.insert(1, rows.pop(2)),
    "positions that ascend from thread to thread": lambda rows, _: rows.__setitem__(
        slice(3), [(2, 3 + n, *row[2:]) for n, row in enumerate(rows[:3])]
    ),
    "two equal positions": lambda rows, _: rows.__setitem__(1, (2, 0, *rows[1][2:])),
    "a thread without rows": lambda rows, _: rows.pop(3),
    "the last thread without rows": lambda rows, _: rows.pop(),
    "the first thread without rows": lambda rows, _: rows.__delitem__(slice(3)),
    "no rows": lambda rows, _: rows.clear(),
    "no clusters": lambda _, clusters: clusters.clear(),
    "rows without thread": lambda rows, _: rows.extend([(None, 0, "ann", "pine")] * 2),
    "rows without thread before others": lambda rows, _: rows.insert(0, (None, 0, "ann", "pine")),
    "a cluster without thread": lambda _, clusters: clusters.append((None, "ann", [], [])),
    "only clusters without thread": lambda _, clusters: clusters.__setitem__(
        slice(4), [(None, *cluster[1:]) for cluster in clusters]
    ),
    "rows of threads that are not listed": lambda _, clusters: clusters.__delitem__(slice(0, 3, 2)),
    "the last thread is not listed": lambda rows, clusters: (
        clusters.pop(),
        rows.append((8, 1, "cem", "mulch")),
        rows.append((9, 0, "cem", "mulch")),
    ),
    "a cluster listed three times": lambda _, clusters: clusters.__setitem__(
        slice(2, 2), [(4, "eve", ["pine"], [1])] * 2
    ),
    "a cluster with another user, listed twice": lambda _, clusters: clusters.insert(
        1, (4, "eve", *clusters[1][2:])
    ),
    "a user in one of several rows": lambda rows, _: rows.__setitem__(5, (6, 1, "eve", "pine")),
    "a null user in a row and in its cluster": lambda rows, clusters: (
        rows.__setitem__(3, (4, 0, None, "wi-fi café")),
        clusters.__setitem__(1, (4, None, *clusters[1][2:])),
    ),
    "a word for a query without one": lambda _, clusters: clusters.__setitem__(
        0, (2, "ann", ["pine", "pine", "straw", "x"], [1, 2, 1])
    ),
    "another length": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine", "straw"], [2, 1])
    ),
    "lengths for fewer rows": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine", "straw"], [3])
    ),
    "lengths for more words": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine"], [1, 2])
    ),
    "a negative length": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine", "straw"], [4, -1])
    ),
    "a null length": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine", "straw"], [3, None])
    ),
    "null lengths": lambda _, clusters: clusters.__setitem__(
        0, (2, "ann", ["pine", "pine", "straw"], None)
    ),
    "null words": lambda _, clusters: clusters.__setitem__(0, (2, "ann", None, [1, 2, 0])),
    "null words for a query without any": lambda rows, clusters: (
        rows.__setitem__(6, (8, 0, "cem", "")),
        clusters.__setitem__(3, (8, "cem", None, [0])),
    ),
    "a null length for a query without words": lambda rows, clusters: (
        rows.__setitem__(6, (8, 0, "cem", "")),
        clusters.__setitem__(3, (8, "cem", [], [None])),
    ),
    "a null word": lambda _, clusters: clusters.__setitem__(3, (8, "cem", [None], [1])),
    "a null word of a query that is not plain": lambda _, clusters: clusters.__setitem__(
        1, (4, "bob", [None, *clusters[1][2][1:]], clusters[1][3])
    ),
    "the words of the first and of the last thread": lambda _, clusters: (
        clusters.__setitem__(0, (2, "ann", ["pine", "straw", "pine"], [1, 2, 0])),
        clusters.__setitem__(3, (8, "cem", ["mulches"], [1])),
    ),
    "a word in upper case": lambda _, clusters: clusters.__setitem__(3, (8, "cem", ["Mulch"], [1])),
    "two words as one": lambda _, clusters: clusters.__setitem__(
        2, (6, "ann", ["straw", "pine straw"], [1, 1])
    ),
    "two plain words as one": lambda _, clusters: clusters.__setitem__(
        0, (2, "ann", ["pine", "pine straw"], [1, 1, 0])
    ),
}


@pytest.mark.parametrize(("batch_rows", "batch_threads"), [(1, 2), (3, 1)])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_each_change_is_counted(connection, monkeypatch, change, batch_rows, batch_threads):
    monkeypatch.setattr(sql, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr(source_words, "BATCH_THREADS", batch_threads)
    rows, clusters = list(ROWS), list(CLUSTERS)
    change(rows, clusters)
    assert count(connection, rows, clusters) == as_counts(expected_faults(rows, clusters))


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


@given(stages())
@settings(max_examples=30)
def test_counts_equal_brute_force(connection, drawn):
    assert count(connection, *drawn) == as_counts(expected_faults(*drawn))


def test_tokenizer_is_called_once_per_text_and_for_every_text(connection, monkeypatch):
    monkeypatch.setattr(source_words, "BATCH_THREADS", 1)
    texts = []

    def first_letters(text):
        texts.append(text)
        return [word[:1] for word in text.split()]

    rows = [(thread, n, "ann", query) for thread in (0, 1) for n, query in enumerate(["b a", "a"])]
    clusters = [(thread, "ann", ["b", "a", "a"], [2, 1]) for thread in (0, 1)]
    faults = count(connection, rows, clusters, first_letters, splits_at_blanks=False)
    assert not any(faults.values())
    assert sorted(texts) == ["a", "b a"]


def test_plain_queries_are_not_tokenized(connection):
    rows, clusters = [(0, 0, "ann", "Pine Straw")], [(0, "ann", ["pine", "straw"], [2])]
    faults = count(connection, rows, clusters, tokenizer=None)
    assert not any(faults.values())


def test_sorted_stages_are_read_without_sorting_them(connection, monkeypatch):
    statements = []

    def read(connection, statement, *rows):
        statements.append(statement)
        return sql.read_batches(connection, statement, *rows)

    monkeypatch.setattr(source_words, "read_batches", read)
    count(connection, ROWS, CLUSTERS)
    assert not [statement for statement in statements if "ORDER BY" in statement]
    count(connection, ROWS[::-1], CLUSTERS)
    assert "ORDER BY thread, position" in "".join(statements)
