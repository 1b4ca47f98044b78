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
from setanon_dagster.demo.words import COMMON, PER_TOPIC, TOPICS, invented, misspelled

SMALL = {"users": 300, "queries": 1500}


def columns_of(**asked):
    chunks = list(log.demo_rows(**asked))
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


def test_the_same_seed_writes_the_same_bytes_on_every_machine(tmp_path):
    path = tmp_path / "log.tsv"
    log.write_demo_log(path, **SMALL, seed=7)
    assert sha256(path.read_bytes()).hexdigest() == (
        "cdfe34e37465b11bfa98b63329a8c413cfdbe8e134852431a7d43db354cf8070"
    )


def test_another_seed_writes_other_queries_of_the_same_users():
    one, other = columns_of(**SMALL, seed=1), columns_of(**SMALL, seed=2)
    assert set(one[0]) == set(other[0])
    assert one[2] != other[2]


@pytest.mark.parametrize(("users", "queries"), [(1, 1), (1, 1000), (7, 7), (999, 5003)])
def test_a_log_has_as_many_users_and_rows_as_asked(tmp_path, users, queries):
    path = tmp_path / "log.tsv"
    assert log.write_demo_log(path, users, queries) == queries
    rows = [line.split("\t") for line in path.read_text("ascii").splitlines()]
    assert rows[0] == ["user", "time", "query"]
    assert len(rows) == queries + 1
    assert {len(row) for row in rows} == {3}
    assert len({user for user, _, _ in rows[1:]}) == users


def test_without_a_number_of_queries_a_user_has_as_many_as_in_the_paper():
    assert len(columns_of(users=820)[0]) == 4120


def test_the_file_holds_the_rows_that_the_chunks_hold(tmp_path):
    path = tmp_path / "log.tsv"
    log.write_demo_log(path, **SMALL)
    rows = list(zip(*columns_of(**SMALL), strict=True))
    assert [tuple(line.split("\t")) for line in path.read_text("ascii").splitlines()[1:]] == rows


def test_a_compressed_log_holds_the_same_bytes_and_no_time_of_writing(tmp_path):
    plain, packed, again = (tmp_path / name for name in ("a.tsv", "a.tsv.gz", "b.tsv.gz"))
    for path in (plain, packed, again):
        log.write_demo_log(path, **SMALL)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    assert packed.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(("users", "queries"), [(40_000, 200_000), (200, 200_000)])
def test_chunks_are_bounded_and_hold_whole_users(users, queries):
    chunks = [own for own, _, _ in log.demo_rows(users, queries)]
    assert len(chunks) > 1
    assert max(map(len, chunks)) <= log.ROWS_AT_ONCE
    assert sum(map(len, chunks)) == queries
    assert sum(len(set(own)) for own in chunks) == users


def test_chunks_are_made_one_by_one(monkeypatch):
    made = []
    chunk = log._chunk  # noqa: SLF001 - only the work itself tells when it is done
    monkeypatch.setattr(log, "_chunk", lambda *given: made.append(1) or chunk(*given))
    chunks = log.demo_rows(40_000, 200_000)
    assert not made
    next(chunks)
    assert len(made) == 1


def test_logs_read_side_by_side_do_not_disturb_each_other():
    one, other = log.demo_rows(40_000, 200_000), log.demo_rows(40_000, 200_000)
    next(one)
    assert list(other)[1:] == list(one)


def test_rows_are_in_order_of_users_and_times_within_about_three_months():
    users, times, _ = columns_of(users=2000)
    rows = list(zip(users, times, strict=True))
    assert rows == sorted(rows)
    days = np.array(times, "datetime64[D]")
    assert 80 <= (days.max() - days.min()).astype(int) <= 100
    assert {len(time) for time in times} == {len("2006-03-01 12:34:56")}


def test_every_query_is_its_keywords():
    _, _, queries = columns_of(users=2000)
    # But for an address misspelled with two dots.
    odd = [query for query in set(queries) if " ".join(tokenize(query)) != query]
    assert all(".." in query for query in odd)
    assert all(map(tokenize, set(queries)))


def test_threads_have_the_shape_of_the_papers_log():
    users, times, queries = columns_of(users=5000)
    records, vocabulary = threads_of(users, times, queries)
    keys = cluster_keys(records, word_hashes(vocabulary), (3,))[:, 0]
    largest = np.unique(keys, return_counts=True)[1].max()
    assert len(records) / 5000 == pytest.approx(165 / 82, rel=0.1)
    assert len(records.items) / len(records) == pytest.approx(2.55, rel=0.1)
    assert largest / len(records) == pytest.approx(2.8 / 165, rel=0.15)


def test_exact_repeats_are_common_and_a_few_users_are_heavy():
    users, _, queries = columns_of(users=5000)
    rows = list(zip(users, queries, strict=True))
    repeats = sum(one == other for one, other in pairwise(rows))
    assert 0.4 < repeats / len(rows) < 0.6
    sizes = sorted((len(list(own)) for _, own in groupby(users)), reverse=True)
    assert 0.1 < sum(sizes[:50]) / len(users) < 0.3


def test_threads_interleave_a_little():
    users, times, queries = columns_of(users=2000)
    text, texts = encode_values(queries, "query")
    seconds = np.array(times, "datetime64[s]").astype(np.int64)
    thread = separate_threads(encode_users(users, len(text)), seconds, text, texts=texts)
    runs = np.bincount(thread[np.diff(thread, prepend=-1) != 0])
    assert 0.01 < (runs > 1).mean() < 0.1


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"users": 0}, "users must be at least 1; got 0"),
        ({"users": 2.5}, "users must be an integer"),
        ({"users": True}, "users must be an integer"),
        ({"users": 10, "queries": 9}, "queries must be at least 10; got 9"),
        ({"users": 10, "queries": 10_001}, "queries must be at most 1000 for each user; got 10001"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
    ],
)
def test_what_is_out_of_range_is_refused_before_anything_is_written(tmp_path, asked, sentence):
    with pytest.raises(InvalidParameterError, match=sentence):
        log.demo_rows(**asked)
    with pytest.raises(InvalidParameterError, match=sentence):
        log.write_demo_log(tmp_path / "log.tsv", **asked)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz"])
def test_a_failed_write_leaves_the_old_log_and_nothing_else(tmp_path, monkeypatch, name):
    path = tmp_path / name
    path.write_text("old")

    def failing(*_):
        yield ["u1"], ["2006-03-01 00:00:00"], ["garden"]
        raise OSError

    monkeypatch.setattr(log, "_chunks", failing)
    with pytest.raises(OSError, match=r"^$"):
        log.write_demo_log(path, **SMALL)
    assert [(left.name, left.read_text()) for left in tmp_path.iterdir()] == [(name, "old")]


def test_no_word_stands_twice_in_the_lists_and_every_topic_has_its_words():
    words = [*TOPICS.split(), *COMMON]
    assert len(set(words)) == len(words)
    assert {len(topic.split()) for topic in TOPICS.splitlines()} == {PER_TOPIC}


def test_different_numbers_make_different_words():
    assert len(set(invented(np.arange(100_000)))) == 100_000
    assert len(set(invented(np.arange(100_000), ("ton", "dale")))) == 100_000


def test_a_misspelling_changes_one_letter_or_swaps_two():
    found = {misspelled("to", how) for how in range(500)}
    assert {"t", "too", "ot", "ta", "tz"} <= found
    assert {len(word) for word in found} == {1, 2, 3}
