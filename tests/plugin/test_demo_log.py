"""The synthetic log: reproducible, in bounded memory, with the shape of the paper's log."""

import gzip
from hashlib import sha256
from itertools import groupby, pairwise

import numpy as np
import pytest

from setanon_core.columns.arrays import concat_ranges, offsets_of
from setanon_core.columns.encode import encode_values
from setanon_core.columns.records import Records
from setanon_core.columns.users import encode_users
from setanon_core.errors import InvalidParameterError
from setanon_core.keywords.clusters import cluster_keys
from setanon_core.keywords.minhash import word_hashes
from setanon_core.keywords.tokenize import tokenize, tokenize_all
from setanon_core.threads.separate import separate_threads
from setanon_dagster.demo import log
from setanon_dagster.demo.words import COMMON, PER_TOPIC, TOPICS, invent_words, misspell

SMALL = {"users": 300, "queries": 1500}


def columns_of(**options):
    chunks = list(log.demo_rows(**options))
    return tuple([value for chunk in chunks for value in chunk[column]] for column in range(3))


def threads_of(users, times, queries):
    text, texts = encode_values(queries, "query")
    user = encode_users(users, len(text))
    thread = separate_threads(
        user, np.array(times, "datetime64[s]").astype(np.int64), text, texts=texts
    )
    words, bounds, vocabulary = tokenize_all(texts)
    order = np.argsort(thread, kind="stable")
    sizes = np.diff(bounds)[text[order]]
    typed = words[concat_ranges(bounds[text[order]], sizes)]
    owner = np.empty(thread.max() + 1, np.int64)
    owner[thread] = user
    per_thread = np.bincount(np.repeat(thread[order], sizes))
    return Records.from_columns(typed, offsets_of(per_thread), owner), vocabulary


def test_equal_seeds_write_equal_bytes_on_every_machine(tmp_path):
    path = tmp_path / "log.tsv"
    log.write_demo_log(path, **SMALL, seed=7)
    assert sha256(path.read_bytes()).hexdigest() == (
        "cdfe34e37465b11bfa98b63329a8c413cfdbe8e134852431a7d43db354cf8070"
    )


def test_another_seed_writes_other_queries_of_equal_users():
    one, other = columns_of(**SMALL, seed=1), columns_of(**SMALL, seed=2)
    assert set(one[0]) == set(other[0])
    assert one[2] != other[2]


@pytest.mark.parametrize(("users", "queries"), [(1, 1), (1, 1000), (7, 7), (999, 5003)])
def test_log_has_the_requested_users_and_rows(tmp_path, users, queries):
    path = tmp_path / "log.tsv"
    assert log.write_demo_log(path, users, queries) == queries
    rows = [line.split("\t") for line in path.read_text("ascii").splitlines()]
    assert rows[0] == ["user", "time", "query"]
    assert len(rows) == queries + 1
    assert {len(row) for row in rows} == {3}
    assert len({user for user, _, _ in rows[1:]}) == users


def test_default_number_of_queries_per_user_equals_the_paper():
    assert len(columns_of(users=820)[0]) == 4120


def test_file_has_the_rows_of_the_chunks(tmp_path):
    path = tmp_path / "log.tsv"
    log.write_demo_log(path, **SMALL)
    rows = list(zip(*columns_of(**SMALL), strict=True))
    assert [tuple(line.split("\t")) for line in path.read_text("ascii").splitlines()[1:]] == rows


def test_gzip_log_is_reproducible_and_has_the_plain_bytes(tmp_path):
    plain, compressed, second = (tmp_path / name for name in ("a.tsv", "a.tsv.gz", "b.tsv.gz"))
    for path in (plain, compressed, second):
        log.write_demo_log(path, **SMALL)
    assert gzip.decompress(compressed.read_bytes()) == plain.read_bytes()
    assert compressed.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("users", "queries"), [(40_000, 200_000), (200, 200_000)])
def test_chunks_are_bounded_and_never_split_a_user(users, queries):
    chunks = [names for names, _, _ in log.demo_rows(users, queries)]
    assert len(chunks) > 1
    assert max(map(len, chunks)) <= log.CHUNK_ROWS
    assert sum(map(len, chunks)) == queries
    assert sum(len(set(names)) for names in chunks) == users


def test_chunks_are_generated_on_demand(monkeypatch):
    calls = []
    chunk = log._chunk  # noqa: SLF001 - counts when a chunk is computed
    monkeypatch.setattr(log, "_chunk", lambda *args: calls.append(1) or chunk(*args))
    chunks = log.demo_rows(40_000, 200_000)
    assert not calls
    next(chunks)
    assert len(calls) == 1


def test_two_logs_can_be_read_alternately():
    one, other = log.demo_rows(40_000, 200_000), log.demo_rows(40_000, 200_000)
    next(one)
    assert list(other)[1:] == list(one)


def test_rows_are_sorted_and_span_about_three_months():
    users, times, _ = columns_of(users=2000)
    rows = list(zip(users, times, strict=True))
    assert rows == sorted(rows)
    days = np.array(times, "datetime64[D]")
    assert 80 <= (days.max() - days.min()).astype(int) <= 100
    assert {len(time) for time in times} == {len("2006-03-01 12:34:56")}


def test_each_query_consists_of_its_keywords():
    _, _, queries = columns_of(users=2000)
    # The only exceptions are addresses misspelled with two dots.
    exceptions = [query for query in set(queries) if " ".join(tokenize(query)) != query]
    assert all(".." in query for query in exceptions)
    assert all(map(tokenize, set(queries)))


def test_threads_have_the_shape_of_the_log_in_the_paper():
    users, times, queries = columns_of(users=5000)
    records, vocabulary = threads_of(users, times, queries)
    keys = cluster_keys(records, word_hashes(vocabulary), (3,))[:, 0]
    largest = np.unique(keys, return_counts=True)[1].max()
    assert len(records) / 5000 == pytest.approx(165 / 82, rel=0.1)
    assert len(records.items) / len(records) == pytest.approx(2.55, rel=0.1)
    assert largest / len(records) == pytest.approx(2.8 / 165, rel=0.15)


def test_half_of_the_rows_repeat_and_few_users_write_many():
    users, _, queries = columns_of(users=5000)
    rows = list(zip(users, queries, strict=True))
    repeats = sum(one == other for one, other in pairwise(rows))
    assert 0.4 < repeats / len(rows) < 0.6
    sizes = sorted((len(list(rows)) for _, rows in groupby(users)), reverse=True)
    assert 0.1 < sum(sizes[:50]) / len(users) < 0.3


def test_few_threads_overlap_in_time():
    users, times, queries = columns_of(users=2000)
    text, texts = encode_values(queries, "query")
    seconds = np.array(times, "datetime64[s]").astype(np.int64)
    thread = separate_threads(encode_users(users, len(text)), seconds, text, texts=texts)
    runs = np.bincount(thread[np.diff(thread, prepend=-1) != 0])
    assert 0.01 < (runs > 1).mean() < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 0}, "users must be at least 1; got 0"),
        ({"users": 2.5}, "users must be an integer"),
        ({"users": True}, "users must be an integer"),
        ({"users": 10, "queries": 9}, "queries must be at least 10; got 9"),
        ({"users": 10, "queries": 10_001}, "queries must be at most 1000 per user; got 10001"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
    ],
)
def test_values_out_of_range_are_refused_before_writing(tmp_path, options, message):
    with pytest.raises(InvalidParameterError, match=message):
        log.demo_rows(**options)
    with pytest.raises(InvalidParameterError, match=message):
        log.write_demo_log(tmp_path / "log.tsv", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz"])
def test_failed_write_leaves_only_the_old_log(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_text("old")

    def failing(*_):
        yield ["u1"], ["2006-03-01 00:00:00"], ["garden"]
        raise OSError

    monkeypatch.setattr(log, "_chunks", failing)
    with pytest.raises(OSError, match=r"^$"):
        log.write_demo_log(path, **SMALL)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(name, "old")]


def test_listed_words_are_unique_and_topics_have_equal_sizes():
    words = [*TOPICS.split(), *COMMON]
    assert len(set(words)) == len(words)
    assert {len(topic.split()) for topic in TOPICS.splitlines()} == {PER_TOPIC}


def test_different_numbers_give_different_words():
    assert len(set(invent_words(np.arange(100_000)))) == 100_000
    assert len(set(invent_words(np.arange(100_000), ("ton", "dale")))) == 100_000


def test_misspelling_changes_one_letter_or_swaps_two():
    results = {misspell("to", seed) for seed in range(500)}
    assert {"t", "too", "ot", "ta", "tz"} <= results
    assert {len(word) for word in results} == {1, 2, 3}
